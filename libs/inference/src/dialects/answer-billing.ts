import { estimatePromptTokens, tokensOfBytes } from '../model/estimate';
import { emptyUsage, type Usage } from '../model/usage';
import type { BilledUnits } from '../pricing/price';
import { contextLengthOf, priceOf } from './billing';
import type { AnswerContext } from './dialect';
import { hiddenTokens } from './hidden-output';
import { NO_COUNTS, settleUsage, whole, type ReportedCounts } from './openai-usage';
import { servedBy } from './served-tier';
import { memberText, scanRequest } from './request-members';
import type { Bill } from './translation';

const MOST_CHOICES = 128;

/** Settles and prices the usage of a generated answer of which `contentBytes` of text have been seen. */
export function billAnswer(
  reported: ReportedCounts | null,
  contentBytes: number,
  context: AnswerContext,
  fallback: 'estimated' | 'partial',
  units?: BilledUnits,
): Bill {
  const contextLength = contextLengthOf(context);
  const isLong = (reported?.completion ?? tokensOfBytes(contentBytes)) > contextLength;
  const usage = settleUsage(reported, {
    maxPromptTokens: contextLength,
    maxCompletionTokens: isLong ? contextLength * choicesAsked(context.requestBody) : contextLength,
    estimate: () => ({
      promptTokens: estimatePromptTokens(context.requestBody),
      completionTokens: tokensOfBytes(contentBytes),
    }),
    fallback,
  });
  const searches = whole(reported?.searches ?? null);
  return { usage, cost: priceOf(usage, context, searches === null ? units : { ...units, webSearches: searches }) };
}

/** `n` of the request: each choice may fill the context. */
function choicesAsked(body: Buffer): number {
  const asked = Number(memberText(scanRequest(body), 'n')?.toString());
  return Number.isSafeInteger(asked) && asked >= 1 ? Math.min(asked, MOST_CHOICES) : 1;
}

/** Whole counts in the form that upstreams report them in. */
export function countsOf(usage: Usage): ReportedCounts {
  return {
    prompt: usage.promptTokens,
    completion: usage.completionTokens,
    total: usage.totalTokens,
    cached: usage.cachedTokens,
    cacheWrite: usage.cacheWriteTokens,
    audioPrompt: usage.audioPromptTokens,
    reasoning: usage.reasoningTokens,
    audioCompletion: usage.audioCompletionTokens,
    videoPrompt: usage.videoPromptTokens ?? null,
    filePrompt: usage.filePromptTokens ?? null,
    imageCompletion: usage.imageCompletionTokens ?? null,
  };
}

/**
 * Counts what a stream brings, and makes the bill of it at any time. The upstream's last report counts; what
 * came after it is estimated.
 */
export class StreamMeter {
  #contentBytes = 0;
  #reported: Report | null = null;
  #units: BilledUnits | undefined;

  constructor(private context: AnswerContext) {}

  /** Text, arguments and thoughts so far. */
  get contentBytes(): number {
    return this.#contentBytes;
  }

  get hasReport(): boolean {
    return this.#reported !== null;
  }

  /** Text, arguments or thoughts that a model wrote. */
  count(bytes: number): void {
    this.#contentBytes += bytes;
  }

  /** What has been used beside tokens up to now; a report that names units of its own takes its place. */
  used(units: BilledUnits): void {
    this.#units = units;
  }

  /** Prices the whole answer at the tier that it names. */
  served(tier: string | null | undefined): void {
    const context = servedBy(this.context, tier);
    if (context === this.context) return;
    this.context = context;
    const reported = this.#reported;
    if (reported === null) return;
    const { counts, contentBytes, units } = reported;
    this.#reported = { ...reported, bill: billAnswer(counts, contentBytes, context, 'estimated', units) };
  }

  report(counts: ReportedCounts, units?: BilledUnits): Bill {
    const bill = billAnswer(counts, this.#contentBytes, this.context, 'estimated', units);
    this.#reported = { counts, units, bill, contentBytes: this.#contentBytes };
    return bill;
  }

  /** For an answer that is whole. */
  whole(): Bill {
    const reported = this.#reported;
    if (reported !== null && reported.counts.completion !== null) return reported.bill;
    const units = reported?.units ?? this.#units;
    return billAnswer(reported?.counts ?? null, this.#contentBytes, this.context, 'estimated', units);
  }

  /** For a stream that broke off: the last report and what came since, else an estimate, else nothing at all. */
  partial(): Bill {
    const reported = this.#reported;
    const isCounted = reported !== null && reported.counts.completion !== null;
    const units = reported?.units ?? this.#units;
    if (!isCounted && this.#contentBytes === 0 && units === undefined) return this.#nothing();
    const counts = reported && grown(reported.counts, this.#contentBytes - reported.contentBytes);
    const { usage, cost } = billAnswer(counts, this.#contentBytes, this.context, 'partial', units);
    return { usage: { ...usage, provenance: 'partial' }, cost };
  }

  /**
   * For a stream that its caller has left: the last report and what came since; else the prompt, what came, and what
   * the model may have thought unseen.
   */
  left(): Bill {
    const { counts } = this.#reported ?? { counts: NO_COUNTS };
    if (counts.completion !== null) return this.partial();
    const seen = tokensOfBytes(this.#contentBytes);
    const completion = seen + hiddenTokens(this.context, seen);
    const units = this.#reported?.units ?? this.#units;
    const { usage, cost } = billAnswer(
      { ...counts, completion, total: null },
      this.#contentBytes,
      this.context,
      'partial',
      units,
    );
    return { usage: { ...usage, provenance: 'partial' }, cost };
  }

  #nothing(): Bill {
    const usage = emptyUsage('partial');
    return { usage, cost: priceOf(usage, this.context) };
  }
}

interface Report {
  readonly counts: ReportedCounts;
  readonly units: BilledUnits | undefined;
  readonly bill: Bill;
  /** Seen when the report came. */
  readonly contentBytes: number;
}

/** The counts of a report after which so many bytes more have come. */
function grown(counts: ReportedCounts, bytes: number): ReportedCounts {
  if (bytes === 0 || counts.completion === null) return counts;
  return { ...counts, completion: counts.completion + tokensOfBytes(bytes), total: null };
}
