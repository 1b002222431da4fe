import { toFinishReason } from '../../model/finish-reason';
import type { AnswerStream } from '../../model/answer-stream';
import type { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { brokenAnswer } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { setAskedTier } from '../asked-tier';
import { ownMembers } from '../billing';
import { withPricedMarkTexts } from '../cache-lifetime';
import type { Answer, AnswerContext, Dialect } from '../dialect';
import { JsonCursor } from '../../json/json-cursor';
import {
  applyEdits,
  findMember,
  memberEdits,
  missingMembers,
  scanMembers,
  spliceMembers,
  type ScannedObject,
} from '../../json/json-members';
import { hashedUser, memberText, scanRequest } from '../request-members';
import { retainedMembers, setCacheKey } from '../retained-members';
import { cappedTools } from '../tool-caps';
import { unpricedMembers } from '../unpriced-members';
import { tierMember } from '../usage-details';
import { billMessage, usageIn } from './message-billing';
import { messageUsageEdits, messageUsageText } from './message-usage';
import { MessagesStream } from './messages-stream';
import { MESSAGES_GATEWAY_MEMBERS, maxTokensOf } from './request-members';
import { MESSAGE_MEMBERS, STANDARD_TIER, USAGE_MEMBERS } from './required-members';
import { errorAt, readOrRefuse, readUpstreamMessage } from './upstream-message';

/** Anthropic's messages, asked of an upstream that speaks them too. */
export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  api: 'messages',
  toUpstream,
  readAnswer,
  openStream,
};

/** What the upstream has for a tier: it may serve a request first, or never. */
const STANDARD_TIERS: readonly string[] = ['default', 'standard', 'standard_only'];
const tierWord = (tier: string): string => (STANDARD_TIERS.includes(tier) ? 'standard_only' : 'auto');

function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  isStream: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const isOwnKey = account.isOwn;
  const request = withPricedMarkTexts(scanRequest(body), endpoint, account, log);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  if (isStream) set['stream'] = 'true';
  else if (memberText(request, 'stream') !== undefined) set['stream'] = 'false';
  if (isNothing(memberText(request, 'max_tokens'))) set['max_tokens'] = String(maxTokensOf(endpoint));
  setCacheKey(request, set, account);
  const tier = setAskedTier(request, endpoint, set, { isOwnKey, wordOf: tierWord, log });
  const metadata = metadataOf(request);
  if (metadata !== undefined) set['metadata'] = metadata;
  const tools = cappedTools(request, { isOwnKey, log });
  if (tools !== undefined) set['tools'] = tools;
  const unpriced = unpricedMembers(request, set, { api: 'messages', isOwnKey, log });
  const unsent = [...unpriced, ...retainedMembers(request, account), ...unsampled(request, endpoint, log)];
  const remove = [...MESSAGES_GATEWAY_MEMBERS, ...tier, ...unsent];
  return spliceMembers(request, { set, remove });
}

const SAMPLERS: readonly string[] = ['temperature', 'top_p', 'top_k'];

/** The caller's samplers that the catalogue does not list, for which the upstream would refuse the whole request. */
function unsampled(request: ScannedObject, { supportedParameters: listed }: Endpoint, log?: LossLog): string[] {
  if (listed.length === 0) return [];
  const names = SAMPLERS.filter((name) => !listed.includes(name) && memberText(request, name) !== undefined);
  for (const name of names) log?.drop(name);
  return names;
}

/** The caller's metadata with whom the call is for, by either of its two names and only as a hash; undefined where nobody is named. */
function metadataOf(request: ScannedObject): string | Buffer | undefined {
  const text = memberText(request, 'metadata');
  const metadata = text !== undefined && new JsonCursor(text).isObject() ? scanMembers(text) : undefined;
  const user = (metadata && hashedUser(metadata, 'user_id')) ?? hashedUser(request);
  if (user === undefined) return undefined;
  return metadata ? spliceMembers(metadata, { set: { user_id: user } }) : `{"user_id":${user}}`;
}

function isNothing(text: Buffer | undefined): boolean {
  return text === undefined || new JsonCursor(text).isNull();
}

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const { message, usage } = readOrRefuse(provider, () => readWhole(body));
  const error = findMember(message, 'error');
  if (error && !message.hasContent) throw errorAt(provider, message, error);
  if (!message.hasContent) throw brokenAnswer(provider, 'the answer has no content');
  const counts = { ...usage.counts, tools: message.tools };
  const bill = billMessage(counts, message.contentUnits, context, 'estimated');
  const set = { ...ownMembers(context), ...missingMembers(message, MESSAGE_MEMBERS) };
  if (usage.object === null) set['usage'] = messageUsageText(bill);
  const inner = usage.object === null ? [] : messageUsageEdits(usage.object, bill, USAGE_MEMBERS);
  const edits = [...memberEdits(message, { set }), ...message.contentEdits, ...inner].sort((a, b) => a.start - b.start);
  const { stopReason } = message;
  return {
    body: applyEdits(body, edits),
    ...bill,
    ...usage.details,
    ...tierMember(usage.counts.serviceTier ?? STANDARD_TIER),
    finishReason: stopReason === null ? null : toFinishReason(stopReason),
    nativeFinishReason: stopReason,
    upstreamId: message.id,
  };
}

function readWhole(body: Buffer) {
  const cursor = new JsonCursor(body);
  const message = readUpstreamMessage(cursor);
  cursor.expectEnd();
  return { message, usage: usageIn(message) };
}

function openStream(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream> {
  return MessagesStream.open(upstream, context);
}
