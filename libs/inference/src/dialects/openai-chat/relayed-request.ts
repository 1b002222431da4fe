import {
  JsonCursor,
  applyEdits,
  joinEdits,
  memberEdits,
  spliceMembers,
  type ScannedObject,
  parseJson,
} from '@libs/json';
import { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import type { Endpoint } from '../../catalogue/catalogue';
import { setAskedTier } from '../asked-tier';
import { withPricedMarkTexts } from '../cache-lifetime';
import { CHAT_GATEWAY_MEMBERS } from './gateway-members';
import { cacheMarkEdits, leftOutMembers } from '../own-members';
import { setCappedOutput } from '../output-cap';
import { memberText, scanRequest } from '../request-members';
import { dropRetained, retainedInChat } from '../retained-members';
import { unpricedMembers } from '../unpriced-members';
import { untakenMembers, thinks } from '../untaken-parameters';
import { CheckedObject } from '../checked-object';
import { takes } from './traits';
import { unknownMembers } from '../known-members';
import { REASONING_MEMBERS } from './known-members';
import { readReasoningRequest } from './request-reader';
import { writeEffort } from './request-writer';

/** Lists whose objects may hold a cache mark, in addition to the request itself. */
const MARKED_LISTS = [['messages', 'content'], ['tools']] as const;

/** Returns the caller's body for an upstream of the same API: a few fields changed, all other bytes kept. */
export function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  isStream: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const request = withPricedMarkTexts(scanRequest(body), endpoint, account, log);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  if (isStream) {
    set['stream'] = 'true';
    set['stream_options'] = withUsage(memberText(request, 'stream_options'));
  } else if (memberText(request, 'stream') !== undefined) {
    set['stream'] = 'false';
  }
  setCappedOutput(request, set, endpoint, { names: ['max_completion_tokens', 'max_tokens'], log });
  const retained = retainedInChat(request, set, endpoint, account);
  const reworded = [
    ...setAskedTier(request, endpoint, set, { isOwnKey: account.isOwn, log }),
    ...reword(request, endpoint, set, log),
    ...setTokenCap(request, endpoint, set),
    ...retained,
    ...unpricedMembers(request, set, { api: 'chat', isOwnKey: account.isOwn, log }),
  ];
  dropRetained(request, retained, log);
  const remove = removedFrom(request, endpoint, reworded, log);
  const edits = memberEdits(request, { set, remove });
  return applyEdits(request.bytes, joinEdits(edits, cacheMarkEdits(request, MARKED_LISTS, endpoint, 'chat', log)));
}

function removedFrom(
  request: ScannedObject,
  endpoint: Endpoint,
  reworded: readonly string[],
  log?: LossLog,
): readonly string[] {
  const leftOut = [...leftOutMembers(request, endpoint, 'chat', log), ...untakenMembers(request, endpoint, log)];
  if (leftOut.length === 0 && reworded.length === 0) return CHAT_GATEWAY_MEMBERS;
  return [...CHAT_GATEWAY_MEMBERS, ...leftOut, ...reworded];
}

/** Returns the caller's stream options with usage turned on: a stream without usage could not be billed. */
function withUsage(options: Buffer | undefined): string | Buffer {
  if (options === undefined || !new JsonCursor(options).isObject()) return '{"include_usage":true}';
  return spliceMembers(options, { set: { include_usage: 'true' } });
}

/**
 * Replaces `reasoning` by `reasoning_effort` for upstreams that refuse `reasoning`, which is not part of OpenAI's API.
 * @param set JSON texts by field name; the effort is added
 * @returns the names of fields that are not sent to the
 * upstream
 * @throws AppError invalid_request with the path of the invalid field
 */
function reword(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
  log?: LossLog,
): readonly string[] {
  if (memberText(request, 'reasoning') === undefined || takes(endpoint, 'reasoning') || !thinks(endpoint)) return [];
  const effort = effortOf(request, endpoint, log);
  if (effort !== undefined) set['reasoning_effort'] = JSON.stringify(effort);
  return ['reasoning'];
}

function effortOf(request: ScannedObject, endpoint: Endpoint, log = new LossLog()): string | undefined {
  const names = ['reasoning', 'reasoning_effort', 'max_completion_tokens', 'max_tokens'];
  const members = names.flatMap((name) => {
    const text = memberText(request, name);
    return text === undefined || new JsonCursor(text).isNull() ? [] : [[name, parseJson(text)] as const];
  });
  const body = new CheckedObject(Object.fromEntries(members));
  const maxOutputTokens = body.integer('max_completion_tokens') ?? body.integer('max_tokens');
  const unread = unknownMembers({ reasoning: body.value('reasoning') }, { reasoning: REASONING_MEMBERS });
  const reasoning = readReasoningRequest(body, unread);
  const asked = body.object('reasoning') ?? new CheckedObject({});
  // The provider may support an effort that we do not know.
  const isForeign = unread.delete('reasoning.effort');
  const lost = isForeign ? ['summary', 'max_tokens'] : ['summary'];
  for (const name of lost) if (asked.has(name)) unread.add(`reasoning.${name}`);
  for (const path of unread) log.drop(path);
  if (isForeign) return asked.string('effort');
  return reasoning && writeEffort(reasoning, maxOutputTokens, endpoint, log);
}

/**
 * Writes `max_completion_tokens`, which applies if both caps are set, into the one cap field that the endpoint accepts.
 * Providers differ in which of the two they read. A request that has only `max_tokens` is not changed.
 * @param set JSON texts by field name; the cap is added
 * @returns the names of fields that are not sent to the upstream
 */
function setTokenCap(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
): readonly string[] {
  const cap = set['max_completion_tokens'] ?? memberText(request, 'max_completion_tokens');
  if (cap === undefined || new JsonCursor(Buffer.from(cap)).isNull()) return [];
  if (!takes(endpoint, 'max_tokens')) {
    delete set['max_tokens'];
    return ['max_tokens'];
  }
  delete set['max_completion_tokens'];
  set['max_tokens'] = cap;
  return ['max_completion_tokens'];
}
