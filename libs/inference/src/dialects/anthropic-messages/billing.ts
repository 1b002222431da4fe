import { likelyPromptTokens } from '../../model/estimate';
import { tokensOfUnits } from '../../model/text-tokens';
import type { UsageDetails } from '../../pricing/usage';
import { contextLengthOf, priceOf } from '../billing';
import type { AnswerContext } from '../dialect';
import { JsonCursor } from '../../json/json-cursor';
import { findMember, scanMembersAt, type ScannedObject } from '../../json/json-members';
import { servedBy } from '../served-tier';
import type { Bill } from '../translation';
import { usageDetails } from '../usage-details';
import { NO_COUNTS, countsOf, settleMessage, tierOf, type MessageCounts } from './usage';
import { valueOf } from './relayed-answer';

/** A usage object of an upstream: its counts, and its place so that it can be completed in place. */
export interface ReportedMessageUsage {
  readonly counts: MessageCounts;
  readonly object: ScannedObject | null;
  /** What else it says, as a member of `Answer`. */
  readonly details: { readonly details?: UsageDetails };
}

/** The usage object among an object's members: its counts, and its place unless it is none. */
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
      promptTokens: likelyPromptTokens(context.requestBody),
      completionTokens: tokensOfUnits(contentUnits),
    }),
    fallback,
  });
  return { usage, cost: priceOf(usage, servedBy(context, tierOf(counts)), units) };
}
