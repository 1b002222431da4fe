import { JsonCursor, scanMembers, spliceMembers, type JsonMember, type ScannedObject, parseJson } from '@libs/json';
import type { LossLog } from '../model/loss-report';
import { MemberNames } from '../model/member-names';
import { memberText, type RelayedApi } from './request-members';

/** Fields for which a provider charges more than the catalogue's prices, with the values that cost no more. */
const DEARER: Readonly<Record<string, readonly unknown[]>> = {
  // Anthropic charges 1.1 times the rates for a fixed region.
  inference_geo: ['global'],
  // xAI charges live search per source.
  search_parameters: [],
  // Alibaba Cloud charges web search per call.
  enable_search: [false],
  search_options: [],
};
/** Perplexity charges more per request if `web_search_options.search_type` is `pro` or `auto`. */
const SEARCH = 'web_search_options';
const SEARCH_TYPE = new MemberNames(['search_type']);

/** Fields that decide what a request costs and that exist in some API. */
const OF_ANY_API: readonly string[] = [
  ...Object.keys(DEARER),
  SEARCH,
  'model',
  'models',
  'stream',
  'tools',
  'mcp_servers',
  'max_tool_calls',
  'service_tier',
  'speed',
  'thinking',
  'reasoning',
  'reasoning_effort',
];
/**
 * Fields that decide the cost, by the API they belong to. A provider may obey a cap that belongs to another API, which
 * reservations do not count.
 */
const OF_ONE_API: Readonly<Record<RelayedApi, readonly string[]>> = {
  chat: ['max_tokens', 'max_completion_tokens', 'n', 'prediction'],
  responses: ['max_output_tokens', 'context_management'],
  messages: ['max_tokens', 'context_management', 'fallbacks'],
  embeddings: [],
};
/**
 * Fields that decide the cost but are part of no API of ours. Some servers accept them: for longer or more answers, for
 * tools, or for any setting.
 */
const OF_NO_API: readonly string[] = [
  'best_of',
  'num_return_sequences',
  'num_generations',
  'num_completions',
  'num_candidates',
  'candidate_count',
  'use_beam_search',
  'num_beams',
  'beam_width',
  'max_new_tokens',
  'max_gen_len',
  'max_length',
  'max_tokens_to_sample',
  'max_tokens_to_generate',
  'tokens_to_generate',
  'num_predict',
  'n_predict',
  'min_tokens',
  'min_new_tokens',
  'min_length',
  'generation_config',
  'parameters',
  'options',
  'extra_body',
  // Fields that make a provider run tools.
  'compound_custom',
  'builtin_tools',
  'connectors',
  'web_search',
  'enable_web_search',
  'tools_config',
  // vLLM and SGLang: hosts from which the server fetches parts of the prompt.
  'kv_transfer_params',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
  // vLLM, SGLang and llama.cpp: code that the server runs, and state or priorities that it shares between tenants.
  'custom_logit_processor',
  'logits_processors',
  'session_params',
  'lora_path',
  'id_slot',
  'priority',
];

const COSTLY = new MemberNames([...OF_ANY_API, ...Object.values(OF_ONE_API).flat(), ...OF_NO_API]);
const COUNTED: Readonly<Record<RelayedApi, ReadonlySet<string>>> = {
  chat: new Set([...OF_ANY_API, ...OF_ONE_API.chat]),
  responses: new Set([...OF_ANY_API, ...OF_ONE_API.responses]),
  messages: new Set([...OF_ANY_API, ...OF_ONE_API.messages]),
  embeddings: new Set(OF_ANY_API),
};

export interface UnpricedSettings {
  readonly api: RelayedApi;
  /** True if the caller pays the provider with its own key: then every field is sent. */
  readonly isOwnKey: boolean;
  /** Gets the fields that are left out. */
  readonly log?: LossLog | undefined;
}

/**
 * Returns the fields that are not sent on the operator's account, because the upstream may charge more for them than
 * the caller is billed. These are fields that cost more, and fields that decide the cost but that we do not read in
 * this spelling or on this API.
 * @param set JSON texts by field name; `web_search_options` is added without its search type
 */
export function unpricedMembers(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  { api, isOwnKey, log }: UnpricedSettings,
): readonly string[] {
  if (isOwnKey) return NONE;
  const search = memberText(request, SEARCH);
  const plain = search && withoutSearchType(search, log);
  if (plain !== undefined) set[SEARCH] = plain;
  const dearer = request.members.filter((member) => isUncounted(api, member.key) || isDearer(request, member));
  for (const { key, valueStart } of dearer) {
    if (!new JsonCursor(request.bytes, valueStart).isNull()) log?.drop(key);
  }
  return dearer.length === 0 ? NONE : dearer.map(({ key }) => key);
}

const NONE: readonly string[] = [];

function isUncounted(api: RelayedApi, name: string): boolean {
  return COSTLY.has(name) && !COUNTED[api].has(name);
}

function isDearer({ bytes }: ScannedObject, { key, valueStart, valueEnd }: JsonMember): boolean {
  if (!Object.hasOwn(DEARER, key)) return false;
  const value: unknown = parseJson(bytes.subarray(valueStart, valueEnd));
  return value !== null && !DEARER[key]!.includes(value);
}

/** Returns the options without a search type that costs more; undefined if they can stay as they are. */
function withoutSearchType(text: Buffer, log?: LossLog): Buffer | undefined {
  if (!new JsonCursor(text).isObject()) return undefined;
  const options = scanMembers(text);
  const types = options.members.map(({ key }) => key).filter((key) => SEARCH_TYPE.has(key));
  const dearer = types.filter((key) => !CHEAP_TYPES.has(memberText(options, key)!.toString()));
  if (dearer.length === 0) return undefined;
  for (const key of dearer) log?.drop(`${SEARCH}.${key}`);
  return spliceMembers(options, { remove: dearer });
}

/** Search types that cost no more, as JSON texts. */
const CHEAP_TYPES: ReadonlySet<string> = new Set(['"fast"', 'null']);
