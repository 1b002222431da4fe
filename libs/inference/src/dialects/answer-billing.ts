import { TextCounter, tokensOfUnits } from '../model/text-tokens';
import type { Usage } from '../pricing/usage';
import type { BilledUnits } from '../pricing/price';
import type { AllowedUses } from '../pricing/tool-uses';
import { contextLengthOf, priceOf, unsaidBill } from './billing';
import type { AnswerContext } from './dialect';
import { hiddenPictures, hiddenTokens, reservedTokens } from './hidden-output';
import { turnsOf } from './inner-turns';
import { reservedUses, seenUses, unitsOfUses, workOf, type InnerWork } from './left-work';
import { settleUsage } from './openai-usage';
import { NO_COUNTS, NO_UNITS, countedUnits, type ReportedCounts } from './reported-counts';
import { servedBy } from './served-tier';
import { likelyPrompt, reservedCounts } from './reserved-prompt';
import { memberText, scanRequest } from './request-members';
import { withLateTools, type ToolUnits } from './reported-tools';
import {
  countSeen,
  seenSince,
  addSeen,
  withLateKinds,
  withSeen,
  type SeenCounts,
  type SeenOutput,
} from './seen-output';
import type { Bill } from './translation';

const MOST_CHOICES = 128;

/** Returns the usage and price of an answer, from the reported counts or from the output seen so far. */
export function billAnswer(
  reported: ReportedCounts | null,
  seen: SeenOutput,
  context: AnswerContext,
  fallback: 'estimated' | 'partial',
  units?: BilledUnits,
): Bill {
  const used = unitsOf(reported, seen, units);
  const contextLength = contextLengthOf(context) * turnsOf(used);
  const said = reported ?? NO_COUNTS;
  // Without the provider's count, image and audio tokens of the output are estimated from what was seen.
  const counts = said.completion === null ? { ...said, ...kindsOf(countSeen(seen)) } : said;
  const isLong = (said.completion ?? countSeen(seen).completion) > contextLength;
  const usage = settleUsage(counts, {
    maxPromptTokens: contextLength,
    maxCompletionTokens: isLong ? contextLength * choicesAsked(context.requestBody) : contextLength,
    estimate: () => ({
      promptTokens: likelyPrompt(context),
      completionTokens: countSeen(seen).completion,
    }),
    fallback,
  });
  return { usage, cost: priceOf(usage, context, used) };
}

function kindsOf({ imageCompletion, audioCompletion }: SeenCounts): Partial<ReportedCounts> {
  return { ...(imageCompletion > 0 && { imageCompletion }), ...(audioCompletion > 0 && { audioCompletion }) };
}

/**
 * Returns the units to bill. Counts output pictures here, because no provider that bills per picture reports their
 * number.
 */
function unitsOf(
  reported: ReportedCounts | null,
  { pictures }: SeenOutput,
  units: BilledUnits | undefined,
): BilledUnits | undefined {
  const counted = countedUnits(reported ?? NO_COUNTS);
  if (counted === NO_UNITS && pictures === 0) return units;
  const webSearches = Math.max(units?.webSearches ?? 0, counted.webSearches ?? 0);
  return {
    ...units,
    ...counted,
    ...(webSearches > 0 && { webSearches }),
    ...(pictures > 0 && { outputImages: pictures }),
  };
}

/** Returns `n` of the request: each choice may fill the context. */
function choicesAsked(body: Buffer): number {
  const asked = Number(memberText(scanRequest(body), 'n')?.toString());
  return Number.isSafeInteger(asked) && asked >= 1 ? Math.min(asked, MOST_CHOICES) : 1;
}

/** Returns a usage in the form in which upstreams report counts. */
export function countsOf(usage: Usage): ReportedCounts {
  const { unreported } = usage;
  return {
    prompt: unreported === 'prompt' ? null : usage.promptTokens,
    completion: unreported === 'completion' ? null : usage.completionTokens,
    total: unreported === undefined ? usage.totalTokens : null,
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
 * Counts the output of a stream and can bill it at any time. The upstream's last usage report counts; output after
 * it is estimated.
 */
export class StreamMeter {
  /** Counts what a model wrote: text, arguments and thoughts. */
  readonly text = new TextCounter();
  #pictures = 0;
  #audioBytes = 0;
  #reported: Report | null = null;
  #units: ToolUnits | undefined;
  #compactions = 0;
  /** Text before the last use of a provider's tool. The model has read that text again. */
  #unitsBeforeUse = 0;

  constructor(private context: AnswerContext) {}

  /** Counts what `count` counts as output that came before the last report and was held back until now. */
  heldBack(count: () => void): void {
    const before = this.#seen;
    count();
    if (this.#reported === null) return;
    this.#reported = { ...this.#reported, seen: addSeen(this.#reported.seen, seenSince(this.#seen, before)) };
  }

  /** Counts pictures that the model made, and base64 bytes of its sound. */
  countMedia(pictures: number, audioBytes = 0): void {
    this.#pictures += pictures;
    this.#audioBytes += audioBytes;
  }

  /**
   * Sets the tools that have been used so far. The units of a report take precedence, except over tools that were used
   * after it.
   */
  used(units: ToolUnits): void {
    if (turnsOf(units) > turnsOf(this.#units)) this.#unitsBeforeUse = this.text.units;
    this.#units = units;
  }

  /** Notes a compaction: the provider has replaced the context by a summary. */
  compacted(): void {
    this.#compactions += 1;
    this.#unitsBeforeUse = this.text.units;
  }

  /** Prices the whole answer at the tier that it names. */
  served(tier: string | null | undefined): void {
    const context = servedBy(this.context, tier);
    if (context === this.context) return;
    this.context = context;
    const reported = this.#reported;
    if (reported === null) return;
    const { counts, pictures, units } = reported;
    const seen = { ...reported.seen, pictures };
    this.#reported = { ...reported, bill: billAnswer(counts, seen, context, 'estimated', units) };
  }

  report(counts: ReportedCounts, units?: BilledUnits): Bill {
    const seen = this.#seen;
    const bill = billAnswer(counts, seen, this.context, 'estimated', units);
    this.#reported = { counts, units, bill, seen, pictures: seen.pictures, used: this.#units };
    return bill;
  }

  /** Returns the bill of a complete answer: the last report, or all output and tools seen if that is more. */
  whole(): Bill {
    const reported = this.#reported;
    const units = this.#usedUnits;
    if (reported === null || reported.counts.completion === null) {
      return billAnswer(reported?.counts ?? null, this.#seen, this.context, 'estimated', units);
    }
    const late = { seen: countSeen(this.#seen), since: countSeen(seenSince(this.#seen, reported.seen)) };
    const counts = withLateKinds(settledCounts(reported), late, this.context.endpoint.pricing);
    if (counts === null && units === reported.units && this.#pictures === reported.pictures) return reported.bill;
    const bill = billAnswer(counts ?? reported.counts, this.#seen, this.context, 'estimated', units);
    return counts === null ? bill : { ...bill, usage: { ...bill.usage, provenance: 'estimated' } };
  }

  /** Returns the bill of a stream that broke off: last report and later output, else an estimate, else nothing. */
  partial(): Bill {
    const reported = this.#reported;
    const isCounted = reported !== null && reported.counts.completion !== null;
    const units = this.#usedUnits;
    if (!isCounted && isNothing(this.#seen) && units === undefined) return unsaidBill(this.context);
    const since = reported && countSeen(seenSince(this.#seen, reported.seen));
    const isLater = isCounted && since!.completion > 0;
    const counts = isLater ? withSeen(settledCounts(reported), since!) : (reported?.counts ?? null);
    return this.#partial(counts, this.#seen);
  }

  /**
   * Returns the bill of a stream whose caller has disconnected: the last report and later output. Without a report: the
   * prompt as reserved, the output seen, and what the model may have thought, painted or read again unseen. If the
   * answer `isWhole` (it may be complete, but none of it was read): all that the call has reserved.
   */
  left(isWhole = false): Bill {
    const { counts: said } = this.#reported ?? { counts: NO_COUNTS };
    if (said.completion !== null) return this.partial();
    const counts =
      said.prompt === null ? { ...said, ...reservedCounts(this.context) } : { ...said, prompt: said.prompt };
    const seen = { ...this.#seen, pictures: this.#pictures + hiddenPictures(this.context, this.#pictures) };
    const shown = countSeen(seen);
    const unseen = (isWhole ? reservedTokens : hiddenTokens)(this.context, shown.completion);
    const uses = isWhole ? reservedUses(this.context) : this.#usesSeen;
    const completionTokens = unseen + (isWhole ? shown.completion : tokensOfUnits(this.#unitsBeforeUse));
    const work = workOf(this.context, uses, { promptTokens: counts.prompt, completionTokens });
    const completion = shown.completion + unseen + work.summaryTokens;
    const units = isWhole ? unitsOfUses(this.context, uses) : this.#unitsWithCompactions;
    return this.#partial(withSeen(withReads(counts, work), { ...shown, completion }), seen, units);
  }

  get #usesSeen(): readonly AllowedUses[] {
    return seenUses(this.context, { units: this.#usedUnits, compactions: this.#compactions });
  }

  get #unitsWithCompactions(): BilledUnits | undefined {
    const units = this.#usedUnits;
    if (this.#compactions === 0) return units;
    return { ...units, otherTurns: (units?.otherTurns ?? 0) + this.#compactions };
  }

  get #seen(): SeenOutput {
    return { contentUnits: this.text.units, pictures: this.#pictures, audioBytes: this.#audioBytes };
  }

  get #usedUnits(): BilledUnits | undefined {
    const { units, used } = this.#reported ?? {};
    return units === undefined ? this.#units : withLateTools(units, this.#units, used);
  }

  #partial(counts: ReportedCounts | null, seen: SeenOutput, units = this.#usedUnits): Bill {
    const { usage, cost } = billAnswer(counts, seen, this.context, 'partial', units);
    return { usage: { ...usage, provenance: 'partial' }, cost };
  }
}

/** Multiplies sound and pictures of the prompt by the number of times that the model read it. */
function withReads(counts: ReportedCounts, { promptTokens, reads }: InnerWork): ReportedCounts {
  const { audioPrompt, imagePrompt = null } = counts;
  const again = (tokens: number | null): number | null => tokens && tokens * reads;
  return { ...counts, prompt: promptTokens, audioPrompt: again(audioPrompt), imagePrompt: again(imagePrompt) };
}

interface Report {
  readonly counts: ReportedCounts;
  readonly units: BilledUnits | undefined;
  readonly bill: Bill;
  /** Output seen when the report came, and what was held back then. */
  readonly seen: SeenOutput;
  /** Pictures that `bill` includes. */
  readonly pictures: number;
  /** Tools that had been used when the report came. */
  readonly used: ToolUnits | undefined;
}

/** Returns the counts of a report as they were billed: one prompt and one completion, with all their parts. */
function settledCounts({ counts, bill: { usage } }: Report): ReportedCounts {
  return { ...counts, prompt: usage.promptTokens, completion: usage.completionTokens, citations: null };
}

function isNothing({ contentUnits, pictures, audioBytes }: SeenOutput): boolean {
  return contentUnits === 0 && pictures === 0 && audioBytes === 0;
}
