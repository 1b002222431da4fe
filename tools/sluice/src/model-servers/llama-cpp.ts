import type { Api } from '@libs/inference';
import { booleanOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import {
  apiByName,
  COMMON_PARAMETERS,
  countOf,
  hasRoute,
  quantizationOf,
  type ServedModel,
  type ServedModels,
  type ServerKind,
} from './served-model';
import type { ServerClient } from './server-client';

const PARAMETERS = [
  ...COMMON_PARAMETERS,
  'top_k',
  'min_p',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'tools',
  'tool_choice',
];

/** The server of llama.cpp. */
export const llamaCpp: ServerKind = {
  slug: 'llama-cpp',
  name: 'llama.cpp',
  async recognizes(listed) {
    return listed.some(({ owned_by: owner }) => owner === 'llamacpp');
  },
  async describe(listed, client) {
    const properties = objectOf((await client.get('/props')).body);
    if (properties['role'] === 'router' || listed.length > 1) return describeRouter(listed);
    const apis = await apisOf(client);
    return {
      models: listed.map((card) => toModel(card, properties, apis)),
      maxConcurrency: countOf(properties['total_slots']),
    };
  },
};

/** A router loads a model to answer requests about it, so it is not asked about models. */
function describeRouter(listed: readonly JsonObject[]): ServedModels {
  const remark = 'the server is a router: apis are guessed by the name of the model';
  return {
    models: listed.map((card) => {
      const apis = [apiByName(stringOf(card['id']) ?? '')];
      const model = toModel(card, {}, apis);
      return { ...model, remarks: [remark, ...model.remarks] };
    }),
  };
}

function toModel(card: JsonObject, properties: JsonObject, apis: readonly Api[]): ServedModel {
  const meta = objectOf(card['meta']);
  const contextLength = countOf(objectOf(properties['default_generation_settings'])['n_ctx']) ?? countOf(meta['n_ctx']);
  const converses = apis.includes('chat');
  return {
    id: stringOf(card['id']) ?? '',
    apis,
    contextLength,
    created: countOf(card['created']),
    quantization: quantizationOf(stringOf(meta['ftype'])?.replace(/ .*/, '')),
    ...(converses && { inputModalities: modalitiesOf(properties), supportedParameters: PARAMETERS }),
    remarks: contextLength === undefined ? ['the server does not say how long its context is: set context_length'] : [],
  };
}

function modalitiesOf({ modalities }: JsonObject): readonly string[] {
  const { vision, audio } = objectOf(modalities);
  return ['text', ...(booleanOf(vision) === true ? ['image'] : []), ...(booleanOf(audio) === true ? ['audio'] : [])];
}

/** A server that was started for embeddings serves nothing else; other servers answer 501 to embeddings. */
async function apisOf(client: ServerClient): Promise<readonly Api[]> {
  if (await hasRoute(client, '/v1/embeddings')) return ['embeddings'];
  if (!(await hasRoute(client, '/v1/chat/completions'))) return [];
  return (await hasRoute(client, '/v1/responses')) ? ['chat', 'responses'] : ['chat'];
}
