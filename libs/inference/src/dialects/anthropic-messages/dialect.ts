import { JsonCursor, applyEdits, findMember, memberEdits, missingMembers } from '@libs/json';
import { toFinishReason, type FinishReason } from '../../model/finish-reason';
import type { AnswerStream } from '../../model/answer-stream';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { brokenAnswer } from '../../wire/upstream-error';
import { ownMembers } from '../billing';
import type { Answer, AnswerContext, Dialect } from '../dialect';
import { isReportedAt } from '../reported-error';
import { tierMember } from '../usage-details';
import { billMessage, usageIn } from './billing';
import { messageUsageEdits, messageUsageText } from './usage';
import { MessagesStream } from './relayed-stream';
import { MESSAGE_MEMBERS, STANDARD_TIER, USAGE_MEMBERS } from './required-members';
import { errorAt, readOrRefuse, readUpstreamMessage, type UpstreamMessage } from './relayed-answer';
import { toUpstream } from './relayed-request';
import { stopReasonOf } from './stop-reason';

/** Dialect of Anthropic's Messages API for upstreams that have the same API. */
export const anthropicMessages: Dialect = {
  api: 'messages',
  toUpstream,
  readAnswer,
  openStream,
};

/** Reads an answer. Content next to an error is not whole, so it is not passed on. */
function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const { message, usage } = readOrRefuse(provider, () => readWhole(body));
  const error = findMember(message, 'error');
  if (error && isReportedAt(message, error)) throw errorAt(provider, message, error);
  if (!message.hasContent) throw brokenAnswer(provider, 'the answer has no content');
  const counts = { ...usage.counts, tools: message.tools };
  const bill = billMessage(counts, message.contentUnits, context, 'estimated');
  const stop = stopOf(message);
  const set = { ...ownMembers(context), ...missingMembers(message, MESSAGE_MEMBERS), ...stop.set };
  if (usage.object === null) set['usage'] = messageUsageText(bill);
  const inner = usage.object === null ? [] : messageUsageEdits(usage.object, bill, USAGE_MEMBERS);
  const edits = [...memberEdits(message, { set }), ...message.contentEdits, ...inner].sort((a, b) => a.start - b.start);
  return {
    body: applyEdits(body, edits),
    ...bill,
    ...usage.details,
    ...tierMember(usage.counts.serviceTier ?? STANDARD_TIER),
    finishReason: stop.finishReason,
    nativeFinishReason: message.stopReason || null,
    upstreamId: message.id,
  };
}

/** Returns why a message ended. One without a reason has arrived completely, so it stopped or called tools. */
function stopOf({ stopReason, hasCalls }: UpstreamMessage): {
  readonly finishReason: FinishReason;
  readonly set: Readonly<Record<string, string>>;
} {
  if (stopReason) return { finishReason: toFinishReason(stopReason), set: {} };
  const ending = { finishReason: 'stop', nativeFinishReason: null } as const;
  const set = { stop_reason: JSON.stringify(stopReasonOf(ending, hasCalls)) };
  return { finishReason: hasCalls ? 'tool_calls' : 'stop', set };
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
