import type { Api } from '@libs/inference';
import { objectOf, stringOf, type JsonObject } from '@libs/json';
import { apiByName, countOf } from '../model-servers/served-model';
import type { ImportNotes } from './import-notes';
import { knownProvider, splitModel, type KnownProvider } from './litellm-providers';
import { COST_MEMBERS } from './litellm-prices';
import { reasonFor } from './untaken';

/** One entry of `model_list`, with Sluice's names for its parts. */
export interface Deployment {
  /** Path in the file. */
  readonly place: string;
  readonly modelName: string;
  readonly known: KnownProvider;
  readonly upstreamModel: string;
  /** The model of an Azure deployment, if the file names it. */
  readonly baseModel: string | undefined;
  readonly api: Api;
  readonly params: JsonObject;
  readonly info: JsonObject;
  readonly contextLength: number | undefined;
  readonly maxCompletionTokens: number | undefined;
}

const MODES: Readonly<Record<string, Api>> = {
  chat: 'chat',
  responses: 'responses',
  embedding: 'embeddings',
  audio_transcription: 'transcription',
};

const PARAMS_TAKEN = new Set([
  'model',
  'custom_llm_provider',
  'api_base',
  'base_url',
  'api_key',
  'aws_region_name',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_project',
  'vertex_location',
  'vertex_credentials',
  ...COST_MEMBERS,
]);
/** Fields of `model_info` that limit calls; its other fields describe the model to people. */
const INFO_NAMED = new Set(['max_parallel_requests', 'rpm', 'tpm']);
const ENTRY_TAKEN = new Set(['model_name', 'litellm_params', 'model_info']);

/** Reads an entry; null, with a note, for one that cannot be converted. */
export function readDeployment(entry: unknown, place: string, notes: ImportNotes): Deployment | null {
  const { litellm_params: given, model_info: about } = objectOf(entry);
  const [params, info] = [objectOf(given), objectOf(about)];
  const named = readNames(objectOf(entry), params);
  const target = typeof named === 'string' ? named : readTarget(named.model, params, info);
  if (typeof named === 'string' || typeof target === 'string') {
    notes.add(place, `skipped: ${String(target)}`);
    return null;
  }
  noteUntaken(objectOf(entry), params, info, place, notes);
  return {
    place,
    modelName: named.modelName,
    ...target,
    baseModel: stringOf(info['base_model'])?.replace(/^azure\//, ''),
    params,
    info,
    contextLength: countOf(info['max_input_tokens']),
    maxCompletionTokens: countOf(info['max_output_tokens']) ?? countOf(info['max_tokens']),
  };
}

/** Returns the two names of an entry, or why it has no usable name. */
function readNames(
  { model_name: name }: JsonObject,
  params: JsonObject,
): { modelName: string; model: string } | string {
  const [modelName, model] = [stringOf(name) ?? '', stringOf(params['model']) ?? ''];
  if (modelName === '') return 'it has no model_name';
  if (model === '') return 'it has no litellm_params.model';
  if (!isName(modelName) || !isName(model)) return 'its name is too long, or has control characters';
  if (`${modelName}${model}`.includes('*')) return 'Sluice has no wildcards, so name each model';
  return { modelName, model };
}

type Target = Pick<Deployment, 'known' | 'upstreamModel' | 'api'>;

/** Returns what an entry calls, or why Sluice cannot call it. */
function readTarget(model: string, params: JsonObject, info: JsonObject): Target | string {
  const { prefix, upstream } = splitModel(model, stringOf(params['custom_llm_provider']));
  const known = knownProvider(prefix);
  if (known === null) return unknownProvider(prefix);
  if (upstreamOf(known, upstream) === '') return 'it has no model behind its provider';
  const mode = stringOf(info['mode']);
  const wanted = mode === undefined ? apiByName(upstream) : modeOf(mode);
  const api = wanted && apiAt(known, upstream, wanted);
  if (!api) return 'Sluice does not have this API at this provider';
  return { known, upstreamModel: upstreamOf(known, upstream), api };
}

function modeOf(mode: string): Api | null {
  return Object.hasOwn(MODES, mode) ? MODES[mode]! : null;
}

/** A prefix is shown only if it looks like one, because the text may be anything, even a key. */
function unknownProvider(prefix: string): string {
  if (prefix === '') return 'its model has no provider in front, and the name is not known to be of one';
  return /^[a-z][a-z0-9_-]{0,30}$/.test(prefix)
    ? `${prefix} is no provider that Sluice can call`
    : 'its provider is not known';
}

function isName(text: string): boolean {
  return /^[^\p{Cc}]{1,300}$/u.test(text);
}

const SPEECH_ONLY = new Set(['deepgram', 'elevenlabs']);
const CLAUDE = /(?:^|[./])claude-/;
/** For protocols that have more than conversations. */
const OTHER_APIS: Readonly<Record<string, readonly Api[]>> = {
  openai: ['responses', 'embeddings', 'transcription'],
  azure: ['responses', 'embeddings', 'transcription'],
  google: ['embeddings', 'transcription'],
  'google-vertex': ['embeddings'],
  bedrock: ['embeddings'],
  cohere: ['embeddings'],
  mistral: ['embeddings', 'transcription'],
};

/** Returns the API for the wanted mode; null if the protocol has none. */
function apiAt({ protocol }: KnownProvider, upstream: string, wanted: Api): Api | null {
  if (SPEECH_ONLY.has(protocol)) return 'transcription';
  if (wanted !== 'chat') return OTHER_APIS[protocol]?.includes(wanted) === true ? wanted : null;
  return protocol === 'anthropic' || (protocol === 'google-vertex' && CLAUDE.test(upstream)) ? 'messages' : 'chat';
}

/** Returns the APIs of an endpoint that the catalogue in use does not have. */
export function apisOf({ api, known, upstreamModel }: Deployment): readonly Api[] {
  const isBedrockClaude = known.protocol === 'bedrock' && api === 'chat' && CLAUDE.test(upstreamModel);
  return isBedrockClaude ? [api, 'messages'] : [api];
}

function upstreamOf({ protocol }: KnownProvider, upstream: string): string {
  return protocol === 'bedrock' ? upstream.replace(/^(?:converse|invoke)\//, '') : upstream;
}

function noteUntaken(entry: JsonObject, params: JsonObject, info: JsonObject, place: string, notes: ImportNotes): void {
  const names = [
    ...Object.keys(entry).filter((name) => !ENTRY_TAKEN.has(name)),
    ...Object.keys(params).filter((name) => !PARAMS_TAKEN.has(name)),
    ...Object.keys(info).filter((name) => INFO_NAMED.has(name) || isOtherCost(name, info[name])),
  ];
  for (const name of new Set(names)) notes.add(`${place} ${name}`, reasonFor(name));
}

/**
 * A price that is not converted would be missing in the cost of calls. LiteLLM's lists contain many without a value.
 */
function isOtherCost(name: string, value: unknown): boolean {
  if (!/cost|pricing/.test(name) || COST_MEMBERS.includes(name)) return false;
  return value !== undefined && value !== null && value !== 0;
}
