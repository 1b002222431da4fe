import type { Api } from '@libs/inference';
import { objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import {
  COMMON_PARAMETERS,
  countOf,
  MOST_MODELS,
  quantizationOf,
  type ServedModel,
  type ServerKind,
} from './served-model';
import { unreachable, type ServerClient } from './server-client';

/** Calls at once: a server on one card runs few, and queues the rest. */
const MAX_CONCURRENCY = 4;
/** The first version with OpenAI's responses. */
const RESPONSES_SINCE = [0, 13, 3];

export const ollama: ServerKind = {
  slug: 'ollama',
  name: 'Ollama',
  async recognizes(_listed, client) {
    const { status, body } = await client.get('/api/version');
    return status === 200 && stringOf(body?.['version']) !== undefined;
  },
  async describe(_listed, client) {
    const conversation: readonly Api[] = (await hasResponses(client)) ? ['chat', 'responses'] : ['chat'];
    const loaded = await loadedLengths(client);
    const models: ServedModel[] = [];
    for (const tag of await modelsAt('/api/tags', client)) {
      models.push(await toModel(tag, { conversation, loaded, client }));
    }
    return { models, maxConcurrency: MAX_CONCURRENCY };
  },
};

interface Server {
  readonly conversation: readonly Api[];
  readonly loaded: ReadonlyMap<unknown, number | undefined>;
  readonly client: ServerClient;
}

async function toModel(tag: JsonObject, { conversation, loaded, client }: Server): Promise<ServedModel> {
  const id = stringOf(tag['name']) ?? '';
  const { status, body } = await client.post('/api/show', { model: id });
  if (status !== 200) throw unreachable(`answered ${status} when it was asked about one of its models`);
  const shown = objectOf(body);
  const set = loaded.get(id) ?? configuredLength(shown['parameters']);
  const longest = longestContext(shown['model_info']);
  return {
    id,
    contextLength: set === undefined ? longest : Math.min(set, longest ?? set),
    created: secondsOf(tag['modified_at']),
    quantization: quantizationOf(objectOf(tag['details'])['quantization_level']),
    ...abilitiesOf(shown['capabilities'], conversation),
    remarks: set === undefined ? [contextRemark(longest)] : [],
  };
}

type Abilities = Pick<ServedModel, 'apis' | 'inputModalities' | 'supportedParameters'>;

/** Versions before April 2025 list no capabilities; their models converse. */
function abilitiesOf(capabilities: unknown, conversation: readonly Api[]): Abilities {
  const can: readonly unknown[] = Array.isArray(capabilities) ? capabilities : ['completion'];
  if (!can.includes('completion')) return { apis: can.includes('embedding') ? ['embeddings'] : [] };
  return {
    apis: conversation,
    inputModalities: ['text', ...(can.includes('vision') ? ['image'] : [])],
    supportedParameters: [
      ...COMMON_PARAMETERS,
      ...(can.includes('tools') ? ['tools'] : []),
      ...(can.includes('thinking') ? ['reasoning'] : []),
    ],
  };
}

/** A model states its longest context; the server loads it with the configured length or what fits into memory. */
function contextRemark(longest: number | undefined): string {
  const most = longest === undefined ? 'Ollama does not say' : `${longest} tokens are`;
  return `${most} the most that the model can read; Ollama may load it with fewer, and then cuts prompts without a word. Start it with OLLAMA_CONTEXT_LENGTH, and set context_length to the same`;
}

/** `num_ctx` of the model file; the text has one setting a line. */
function configuredLength(parameters: unknown): number | undefined {
  return countOf(Number(/^num_ctx\s+(\d+)$/m.exec(stringOf(parameters) ?? '')?.[1]));
}

function longestContext(info: unknown): number | undefined {
  const facts = objectOf(info);
  return countOf(facts[`${String(facts['general.architecture'])}.context_length`]);
}

/** Returns the loaded models with the context length they were given. Old versions do not have this route. */
async function loadedLengths(client: ServerClient): Promise<ReadonlyMap<unknown, number | undefined>> {
  const { body } = await client.get('/api/ps');
  return new Map(objectsOf(body?.['models']).map(({ name, context_length: length }) => [name, countOf(length)]));
}

async function modelsAt(path: string, client: ServerClient): Promise<readonly JsonObject[]> {
  const { status, body } = await client.get(path);
  if (status !== 200 || !Array.isArray(body?.['models'])) throw unreachable(`answered ${status} at ${path}`);
  const models = objectsOf(body['models']);
  if (models.length > MOST_MODELS) throw unreachable(`has more than ${MOST_MODELS} models`);
  return models;
}

async function hasResponses(client: ServerClient): Promise<boolean> {
  const { body } = await client.get('/api/version');
  const version = (stringOf(body?.['version']) ?? '').split(/[.-]/).map(Number);
  for (const [index, least] of RESPONSES_SINCE.entries()) {
    const part = version[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

function secondsOf(time: unknown): number | undefined {
  return countOf(Math.floor(Date.parse(stringOf(time) ?? '') / 1000));
}
