import {
  applyEdits,
  joinEdits,
  memberEdits,
  type ByteEdit,
  type ScannedObject,
  scanMembers,
  spliceMembers,
  JsonCursor,
  parseJson,
  numberOf,
  objectOf,
} from '@libs/json';
import { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import type { Endpoint } from '../../catalogue/catalogue';
import { setAskedTier } from '../asked-tier';
import { withPricedMarkTexts } from '../cache-lifetime';
import { cacheMarkEdits, leftOutMembers, removalsAt, isTaken } from '../own-members';
import { setCappedOutput } from '../output-cap';
import { GATEWAY_MEMBERS, memberText, scanRequest } from '../request-members';
import { dropRetained, retainedMembers } from '../retained-members';
import { capToolCalls } from '../tool-caps';
import { unpricedMembers } from '../unpriced-members';
import { untakenMembers, thinks } from '../untaken-parameters';
import { returnedThoughtEdits } from './returned-thoughts';
import { readReasoningRequest } from './request-reader';
import { effortOf, outputTokensOf } from './request-writer';
import { withoutUnsoldSearch } from './unsold-search';

/**
 * Fields that are never sent to an upstream: the gateway reads them, or they make the upstream keep state, or they try
 * to bypass the gateway.
 */
const REMOVED: readonly string[] = [
  ...GATEWAY_MEMBERS,
  'deferred_tools',
  'previous_response_id',
  'conversation',
  'api_key',
  'base_url',
  'headers',
];

/** Lists whose objects may hold a cache mark, in addition to the request itself. */
const MARKED_LISTS = [['input'], ['input', 'content'], ['input', 'output'], ['tools']] as const;

/** Where the citations of an earlier answer are. Their field `content` exists only in the gateway's API. */
const CITED_LISTS = ['input', 'content', 'annotations'] as const;
const CITATION = Buffer.from('"url_citation"');

/** Returns the caller's body for an upstream of the same API: a few fields changed, all other bytes kept. */
export function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  isStream: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const scanned = withoutUnsoldSearch(scanRequest(body), endpoint, account, log);
  const request = withPricedMarkTexts(scanned, endpoint, account, log);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel), store: 'false' };
  if (isStream) set['stream'] = 'true';
  else if (memberText(request, 'stream') !== undefined) set['stream'] = 'false';
  setCappedOutput(request, set, endpoint, { names: ['max_output_tokens'], log });
  const tier = setAskedTier(request, endpoint, set, { isOwnKey: account.isOwn, log });
  const reasoning = rewordedReasoning(request, endpoint, log);
  if (reasoning !== undefined) set['reasoning'] = reasoning;
  const leftOut = [...leftOutMembers(request, endpoint, 'responses', log), ...untakenMembers(request, endpoint, log)];
  // `store` is set above. Metadata is passed on, because the upstream stores nothing with it.
  const retained = retainedMembers(request, set, { api: 'responses', account });
  const unpriced = unpricedMembers(request, set, { api: 'responses', isOwnKey: account.isOwn, log });
  dropRetained(request, retained, log);
  capToolCalls(request, set, { isOwnKey: account.isOwn, log });
  const remove = [...removedFrom(request), ...leftOut, ...tier, ...retained, ...unpriced];
  const edits = memberEdits(request, { set, remove });
  const returned = returnedEdits(request, endpoint, log);
  const marks = cacheMarkEdits(request, MARKED_LISTS, endpoint, 'responses', log);
  return applyEdits(request.bytes, joinEdits(edits, joinApart(returned, marks)));
}

/** Returns the edits that remove what the gateway added to earlier answers, because upstreams refuse it. */
function returnedEdits(request: ScannedObject, endpoint: Endpoint, log?: LossLog): readonly ByteEdit[] {
  const thoughts = returnedThoughtEdits(request, endpoint, log);
  if (!request.bytes.includes(CITATION)) return thoughts;
  return joinApart(thoughts, removalsAt(request, CITED_LISTS, 'content'));
}

/** Joins two lists of edits. Leaves out edits of `others` that overlap one of `some`. */
function joinApart(some: readonly ByteEdit[], others: readonly ByteEdit[]): readonly ByteEdit[] {
  const apart = others.filter((other) => some.every(({ start, end }) => other.end <= start || end <= other.start));
  return joinEdits(some, apart);
}

function removedFrom(request: ScannedObject): readonly string[] {
  const removed = [...REMOVED];
  // Conditions of the server-tool loop replace `max_tool_calls`.
  if (isGiven(request, 'stop_server_tools_when')) removed.push('max_tool_calls');
  const modalities = memberText(request, 'modalities')?.toString();
  // Every upstream outputs text by default, and some refuse the field.
  if (modalities !== undefined && !modalities.includes('image')) removed.push('modalities');
  return removed;
}

function isGiven(request: ScannedObject, name: string): boolean {
  const text = memberText(request, name)?.toString();
  return text !== undefined && text !== 'null';
}

/** Fields of `reasoning` that callers may set but OpenAI's API does not have. */
const OWN_SETTINGS = ['enabled', 'max_tokens', 'exclude'];

/**
 * Returns `reasoning` as JSON text in the form that an upstream accepts; undefined if the upstream accepts it
 * unchanged.
 */
function rewordedReasoning(request: ScannedObject, endpoint: Endpoint, log = new LossLog()): Buffer | undefined {
  const text = memberText(request, 'reasoning');
  if (text === undefined || !new JsonCursor(text).isObject() || isTaken(endpoint, 'responses', 'reasoning')) {
    return undefined;
  }
  if (!thinks(endpoint)) return undefined;
  const settings = scanMembers(text);
  if (!settings.members.some(({ key }) => OWN_SETTINGS.includes(key))) return undefined;
  const asked = objectOf(parseJson(text));
  if (asked['exclude'] === true) log.drop('reasoning.exclude');
  const reasoning = readReasoningRequest(asked, new Set());
  const effort = reasoning && effortOf(reasoning, outputTokensOf(boundOf(request), endpoint), log);
  const set = effort === undefined ? undefined : { effort: JSON.stringify(effort) };
  return spliceMembers(settings, { set, remove: OWN_SETTINGS });
}

/** Returns the request's cap on output tokens; undefined if it has none. */
function boundOf(request: ScannedObject): number | undefined {
  const text = memberText(request, 'max_output_tokens');
  return text === undefined ? undefined : numberOf(parseJson(text));
}
