import type { LossLog } from '../model/loss-report';
import { JsonCursor } from '../json/json-cursor';
import { scanMembers, spliceMembers, type JsonMember, type ScannedObject } from '../json/json-members';
import { parseJson } from '../json/json-value';
import { memberText } from './request-members';

/** Members for which a provider charges more than the catalogue says, with the values that cost nothing more. */
const DEARER: Readonly<Record<string, readonly unknown[]>> = {
  // Anthropic: a place costs 1.1 times the rates.
  inference_geo: ['global'],
  // xAI: live search costs by the source.
  search_parameters: [],
  // Alibaba Cloud: web search costs by the call.
  enable_search: [false],
  search_options: [],
};
/** Perplexity: `web_search_options.search_type` of `pro` or `auto` costs more by the request. */
const SEARCH = 'web_search_options';
const SEARCH_TYPE = 'search_type';

export interface UnpricedSettings {
  /** Whether the caller pays the provider, with a key of its own: then everything passes. */
  readonly isOwnKey: boolean;
  /** Where the members go that the upstream is not sent. */
  readonly log?: LossLog | undefined;
}

/**
 * Returns the members of a request that the upstream is not sent on an account of the operator, because they make
 * it charge more than is billed.
 *
 * @param set JSON texts by the names of members, to which `web_search_options` is added without its search type
 */
export function unpricedMembers(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  { isOwnKey, log }: UnpricedSettings,
): readonly string[] {
  if (isOwnKey) return NONE;
  const search = memberText(request, SEARCH);
  const plain = search && withoutSearchType(search, log);
  if (plain !== undefined) set[SEARCH] = plain;
  const dearer = request.members.filter((member) => isDearer(request, member));
  for (const { key } of dearer) log?.drop(key);
  return dearer.length === 0 ? NONE : dearer.map(({ key }) => key);
}

const NONE: readonly string[] = [];

function isDearer({ bytes }: ScannedObject, { key, valueStart, valueEnd }: JsonMember): boolean {
  if (!Object.hasOwn(DEARER, key)) return false;
  const value: unknown = parseJson(bytes.subarray(valueStart, valueEnd));
  return value !== null && !DEARER[key]!.includes(value);
}

/** Undefined where the options can stay as they are. */
function withoutSearchType(text: Buffer, log?: LossLog): Buffer | undefined {
  if (!new JsonCursor(text).isObject()) return undefined;
  const options = scanMembers(text);
  const type = memberText(options, SEARCH_TYPE)?.toString();
  if (type === undefined || type === '"fast"' || type === 'null') return undefined;
  log?.drop(`${SEARCH}.${SEARCH_TYPE}`);
  return spliceMembers(options, { remove: [SEARCH_TYPE] });
}
