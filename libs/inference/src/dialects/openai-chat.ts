import { brokenAnswer, errorInside, readComplaintAt } from '../wire/upstream-error';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { AnswerStream } from '../model/answer-stream';
import type { LossLog } from '../model/loss-report';
import { SHARED_ACCOUNT } from '../model/provider-account';
import type { Endpoint } from '../catalogue/catalogue';
import { setAskedTier } from './asked-tier';
import { ownMembers } from './billing';
import { billAnswer } from './answer-billing';
import { withPricedMarkTexts } from './cache-lifetime';
import { TextCounter } from '../model/text-tokens';
import { chatEdits, readChatObject, type ChatObject } from './chat-object';
import type { Answer, AnswerContext, Dialect } from './dialect';
import { JsonCursor } from '../json/json-cursor';
import { MalformedJson } from '../json/json-grammar';
import { applyEdits, joinEdits, memberEdits, spliceMembers, type ScannedObject } from '../json/json-members';
import { OpenAiChatStream } from './openai-chat-stream';
import { CHAT_GATEWAY_MEMBERS } from './openai-chat/gateway-members';
import { hidesThoughts } from './openai-chat/hidden-thoughts';
import { reword } from './openai-chat/reworded-members';
import { setTokenCap } from './openai-chat/token-cap';
import { usageEdits, usageText } from './openai-usage';
import { cacheMarkEdits, leftOutMembers } from './own-members';
import { hashedUser, memberText, scanRequest } from './request-members';
import { retainedWithMetadata, setCacheKey } from './retained-members';
import { servedBy } from './served-tier';
import { mustRefuseStoring } from './stored-chats';
import { unpricedMembers } from './unpriced-members';
import { untakenMembers } from './untaken-parameters';
import { saidBeside } from './usage-details';

/** OpenAI's chat completions (interface §2.1), asked of an upstream that speaks them too. */
export const openAiChat: Dialect = { name: 'openai-chat', api: 'chat', toUpstream, readAnswer, openStream };

/** Where a request can be marked for the prompt cache, beside its top. */
const MARKED_LISTS = [['messages', 'content'], ['tools']] as const;

function toUpstream(
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
  const user = hashedUser(request);
  if (user !== undefined) set['user'] = user;
  setCacheKey(request, set, account);
  const retained = retainedWithMetadata(request, endpoint, account);
  if (mustRefuseStoring(endpoint, account)) set['store'] = 'false';
  const reworded = [
    ...setAskedTier(request, endpoint, set, { isOwnKey: account.isOwn, log }),
    ...reword(request, endpoint, set, log),
    ...setTokenCap(request, endpoint, set),
    ...retained,
    ...unpricedMembers(request, set, { api: 'chat', isOwnKey: account.isOwn, log }),
  ];
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

/** The caller's stream options with the usage asked for: without it a stream could not be billed. */
function withUsage(options: Buffer | undefined): string | Buffer {
  if (options === undefined || !new JsonCursor(options).isObject()) return '{"include_usage":true}';
  return spliceMembers(options, { set: { include_usage: 'true' } });
}

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const text = new TextCounter();
  const chat = readOrRefuse(body, context, text);
  if (chat.error !== null && !chat.choiceCount) {
    throw errorInside(provider, readComplaintAt(new JsonCursor(body, chat.error.valueStart), 0));
  }
  if (!chat.choiceCount) throw brokenAnswer(provider, 'the answer has no choices');
  const served = servedBy(context, chat.serviceTier);
  const seen = { contentUnits: text.units, pictures: chat.pictures, audioBytes: chat.audioBytes };
  const { usage, cost } = billAnswer(chat.usage?.counts ?? null, seen, served, 'estimated');
  const set = ownMembers(context);
  // Clients that check what they get want the member, and most upstreams have none.
  if (!chat.members.some(({ key }) => key === 'system_fingerprint')) set['system_fingerprint'] = 'null';
  if (chat.usage === null) set['usage'] = usageText(usage, cost, true);
  const edits = chatEdits(chat, { set }, chat.usage === null ? [] : usageEdits(chat.usage, usage, cost, true));
  return {
    body: applyEdits(body, edits),
    usage,
    cost,
    ...saidBeside(chat.usage, chat.serviceTier),
    finishReason: chat.finishReason,
    nativeFinishReason: chat.nativeFinishReason,
    upstreamId: chat.id,
  };
}

function readOrRefuse(body: Buffer, { endpoint, requestBody }: AnswerContext, text: TextCounter): ChatObject {
  try {
    return readChatObject(body, { hidesThoughts: hidesThoughts(requestBody), text });
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

function openStream(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream> {
  return OpenAiChatStream.open(upstream, context);
}
