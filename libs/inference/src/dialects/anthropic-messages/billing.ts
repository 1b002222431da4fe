import { JsonCursor, findMember, scanMembersAt, type ScannedObject } from '@libs/json';
import { tokensOfUnits } from '../../model/text-tokens';
import type { UsageDetails } from '../../pricing/usage';
import { contextLengthOf, priceOf } from '../billing';
import type { AnswerContext } from '../dialect';
import { seenUses, workOf } from '../left-work';
import { likelyPrompt, reservedCounts } from '../reserved-prompt';
import { servedBy } from '../served-tier';
import type { Bill } from '../translation';
import { usageDetails } from '../usage-details';
import { NO_COMPACTION, NO_COUNTS, countsOf, settleMessage, tierOf, type MessageCounts } from './usage';
import { valueOf } from './relayed-answer';

/** A usage object of an upstream: its counts, and its position in the text so that it can be edited there. */
export interface ReportedMessageUsage {
  readonly counts: MessageCounts;
  readonly object: ScannedObject | null;
  /** What the usage reports besides counts; becomes the field `details` of `Answer`. */
  readonly details: { readonly details?: UsageDetails };
}

/** Returns the usage object among an object's fields: its counts, and its position unless the value is no object. */
export function usageIn(object: ScannedObject): ReportedMessageUsage {
  const member = findMember(object, 'usage');
  const cursor = member && new JsonCursor(object.bytes, member.valueStart);
  if (!cursor?.isObject()) return { counts: NO_COUNTS, object: null, details: {} };
  const reported = valueOf(object, member!);
  return { counts: countsOf(reported), object: scanMembersAt(cursor), details: usageDetails(reported) };
}

/** Settles and prices the usage of a message. `contentUnits` is its text so far, in units (`UNITS_PER_TOKEN`). */
export function billMessage(
  counts: MessageCounts,
  contentUnits: number,
  context: AnswerContext,
  fallback: 'estimated' | 'partial',
): Bill {
  const { usage, units } = settleMessage(counts, {
    contextLength: contextLengthOf(context),
    estimate: () => ({
      promptTokens: likelyPrompt(context),
      completionTokens: tokensOfUnits(contentUnits),
    }),
    fallback,
  });
  return { usage, cost: priceOf(usage, servedBy(context, tierOf(counts)), units) };
}

/** Output of a stream up to the moment when its caller disconnected, in tokens. */
interface LeftOutput {
  readonly output: number;
  /** Tokens that the model may have spent on thoughts it did not show. */
  readonly hidden: number;
  /** Output tokens before the last use of a tool. */
  readonly outputBeforeUse: number;
  readonly compactions: number;
}

/**
 * Returns the counts to charge for a stream whose caller disconnected before the usage arrived. They include the text
 * that the model read again after each tool use.
 */
export function leftCounts(
  context: AnswerContext,
  counts: MessageCounts,
  { output, hidden, outputBeforeUse, compactions }: LeftOutput,
): MessageCounts {
  const { cacheRead, cacheWrite, tools } = counts;
  const input = counts.input ?? reservedCounts(context).prompt;
  const promptTokens = input + (cacheRead ?? 0) + (cacheWrite ?? 0);
  const uses = seenUses(context, { units: { ...(tools && { tools }) }, compactions });
  const work = workOf(context, uses, { promptTokens, completionTokens: outputBeforeUse + hidden });
  return {
    ...counts,
    input: input + work.promptTokens - promptTokens,
    output: output + hidden + work.summaryTokens,
    compaction: compactions === 0 ? null : { ...NO_COMPACTION, rounds: compactions },
  };
}
