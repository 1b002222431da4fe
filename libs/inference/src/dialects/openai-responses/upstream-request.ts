import type { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import type { Endpoint } from '../../catalogue/catalogue';
import { setAskedTier } from '../asked-tier';
import { applyEdits, joinEdits, memberEdits, type ByteEdit, type ScannedObject } from '../../json/json-members';
import { withPricedMarkTexts } from '../cache-lifetime';
import { cacheMarkEdits, leftOutMembers, removalsAt } from '../own-members';
import { GATEWAY_MEMBERS, hashOfUser, memberText, scanRequest } from '../request-members';
import { retainedMembers, setCacheKey } from '../retained-members';
import { capToolCalls } from '../tool-caps';
import { unpricedMembers } from '../unpriced-members';
import { untakenMembers } from '../untaken-parameters';
import { returnedThoughtEdits } from './returned-thoughts';
import { rewordedReasoning } from './reworded-reasoning';

/**
 * Members that are between the caller and us, would make the upstream keep state, or try to reach past us:
 * no upstream sees them.
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

/** Where a request can be marked for the prompt cache, beside its top. */
const MARKED_LISTS = [['input'], ['input', 'content'], ['input', 'output'], ['tools']] as const;

/** Where sources of an answer stand. What they say is only ours to tell. */
const CITED_LISTS = ['input', 'content', 'annotations'] as const;
const CITATION = Buffer.from('"url_citation"');

const USERS = ['user', 'safety_identifier'];
const QUOTE = 0x22;

/** The caller's body as an upstream that speaks the same API shall see it: a few members changed, all other bytes kept. */
export function toUpstreamRequest(
  body: Buffer,
  endpoint: Endpoint,
  isStream: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const request = withPricedMarkTexts(scanRequest(body), endpoint, account, log);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel), store: 'false' };
  if (isStream) set['stream'] = 'true';
  else if (memberText(request, 'stream') !== undefined) set['stream'] = 'false';
  const tier = setAskedTier(request, endpoint, set, { isOwnKey: account.isOwn, log });
  for (const name of USERS) {
    const hash = hashedText(request, name);
    if (hash !== null) set[name] = hash;
  }
  setCacheKey(request, set, account);
  const reasoning = rewordedReasoning(request, endpoint, log);
  if (reasoning !== undefined) set['reasoning'] = reasoning;
  const leftOut = [...leftOutMembers(request, endpoint, 'responses', log), ...untakenMembers(request, endpoint, log)];
  // `store` is set above, and metadata goes on: nothing is stored under it.
  const retained = retainedMembers(request, account);
  const unpriced = unpricedMembers(request, set, { api: 'responses', isOwnKey: account.isOwn, log });
  capToolCalls(request, set, { isOwnKey: account.isOwn, log });
  const remove = [...removedFrom(request), ...leftOut, ...tier, ...retained, ...unpriced];
  const edits = memberEdits(request, { set, remove });
  const returned = returnedEdits(request, endpoint, log);
  const marks = cacheMarkEdits(request, MARKED_LISTS, endpoint, 'responses', log);
  return applyEdits(request.bytes, joinEdits(edits, joinApart(returned, marks)));
}

/** What we told the caller in an earlier answer beyond the API, of which an upstream refuses all. */
function returnedEdits(request: ScannedObject, endpoint: Endpoint, log?: LossLog): readonly ByteEdit[] {
  const thoughts = returnedThoughtEdits(request, endpoint, log);
  if (!request.bytes.includes(CITATION)) return thoughts;
  return joinApart(thoughts, removalsAt(request, CITED_LISTS, 'content'));
}

/** Both, without those of the others that would touch what the first change. */
function joinApart(some: readonly ByteEdit[], others: readonly ByteEdit[]): readonly ByteEdit[] {
  const apart = others.filter((other) => some.every(({ start, end }) => other.end <= start || end <= other.start));
  return joinEdits(some, apart);
}

function removedFrom(request: ScannedObject): readonly string[] {
  const removed = [...REMOVED];
  // Conditions of the server-tool loop take the place of the plain bound (interface §4.4).
  if (isGiven(request, 'stop_server_tools_when')) removed.push('max_tool_calls');
  const modalities = memberText(request, 'modalities')?.toString();
  // Text alone is what an upstream does anyway, and some refuse the member.
  if (modalities !== undefined && !modalities.includes('image')) removed.push('modalities');
  return removed;
}

function isGiven(request: ScannedObject, name: string): boolean {
  const text = memberText(request, name)?.toString();
  return text !== undefined && text !== 'null';
}

/** Who the end user is stays here: the upstream gets a hash that is the same for the same user. */
function hashedText(request: ScannedObject, name: string): string | null {
  const text = memberText(request, name);
  return text?.[0] === QUOTE ? JSON.stringify(hashOfUser(JSON.parse(text.toString()) as string)) : null;
}
