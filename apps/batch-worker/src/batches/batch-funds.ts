import { randomUUID } from 'node:crypto';
import { AppError } from '@libs/errors';
import { monotonicMs } from '@libs/inference';
import { keyLimitOf, type BatchFundsRepository, type ClaimedSegment, type Spender } from '@libs/persistence';
import { BatchFund as FundOf } from './batch-fund';
import type { BatchKeys } from './batch-keys';
import type { HeldLine, HeldSegment } from './held-segment';

type BatchFund = FundOf<HeldSegment>;

export interface BatchFundsOptions {
  /** Most lines in flight in the whole lane. */
  readonly slots: number;
  /** How long a batch waits for credit before its remaining lines end with the refusal. */
  readonly graceMs: number;
  /** Called when lines may begin that could not before. */
  readonly onReady: () => void;
  /** Called for each line that ends because it cannot be paid. */
  readonly onEnd: (line: HeldLine, error: AppError) => void;
  readonly onWarning: (text: string, error?: unknown) => void;
}

/** Number of batches that are remembered; those without held segments are dropped first. */
const MOST_REMEMBERED = 2_000;
const MOST_SUSPECTS = 1_000;
const SUSPECT_MS = 10 * 60_000;
const FIRST_PAUSE_MS = 2_000;
const LAST_PAUSE_MS = 30_000;
/** Pause after a reservation with unknown outcome, because PostgreSQL or the auth app is unavailable. */
const AWAY_MS = 1_000;

/**
 * Limits how many lines this worker may begin of each batch. A batch that costs more than estimated reserves its next
 * lines in groups of up to as many as there are slots. If that is refused, it waits and asks again, while other batches
 * continue. If it was refused for the whole grace period, its waiting lines end with the refusal.
 */
export class BatchFunds {
  private readonly funds = new Map<bigint, BatchFund>();
  private readonly holder = `worker-${randomUUID()}`;
  private readonly asking = new Map<BatchFund, Promise<void>>();
  /**
   * Organizations with a batch that exceeded its hold, and until when they count as such, in milliseconds of the
   * monotonic clock.
   */
  private readonly suspects = new Map<string, number>();
  /** When the last pause ends, in milliseconds of the monotonic clock. */
  private pausesEndAtMs = 0;

  constructor(
    private readonly repository: Pick<BatchFundsRepository, 'reserve' | 'release'>,
    private readonly keys: BatchKeys,
    private readonly options: BatchFundsOptions,
  ) {}

  /** Returns the fund that the segments of a claimed batch share. */
  of(claim: ClaimedSegment): BatchFund {
    const fund = this.funds.get(claim.batchNumber) ?? this.remember(claim);
    if (claim.isMetered === true) fund.meter();
    return fund;
  }

  /**
   * Reports that the holds of these batches will not suffice. Other batches of the same organizations without a result
   * yet must then reserve their first lines too: otherwise 200 of them would each begin as many lines as there are
   * slots.
   */
  meter(batchNumbers: readonly bigint[]): void {
    for (const number of batchNumbers) {
      const fund = this.funds.get(number);
      if (fund === undefined) continue;
      fund.meter();
      this.suspect(fund.batch.organizationId);
    }
    for (const fund of this.funds.values()) if (this.isSuspect(fund)) fund.meter();
  }

  private suspect(organizationId: string): void {
    if (this.suspects.size >= MOST_SUSPECTS) this.suspects.delete(this.suspects.keys().next().value!);
    this.suspects.set(organizationId, monotonicMs() + SUSPECT_MS);
  }

  private isSuspect({ isProven, batch: { organizationId } }: BatchFund): boolean {
    return !isProven && monotonicMs() < (this.suspects.get(organizationId) ?? 0);
  }

  /** Returns the numbers of batches whose lines may not begin at present. */
  paused(nowMs = monotonicMs()): bigint[] {
    if (nowMs >= this.pausesEndAtMs) return [];
    return [...this.funds].filter(([, fund]) => fund.isPaused(nowMs)).map(([number]) => number);
  }

  /** Ends the lines of a segment whose batch has been refused for too long. */
  endIfExhausted(fund: BatchFund): void {
    if (fund.exhausted === null) return;
    for (const segment of fund.segments) {
      if (segment.isStopped) continue;
      for (const line of segment.takeWaiting()) this.options.onEnd(line, fund.exhausted);
    }
  }

  /** Reports that no line of this worker is running any more. */
  async releaseAll(): Promise<void> {
    await Promise.all(this.asking.values());
    for (const fund of this.funds.values()) if (fund.isMetered) await this.release(fund);
  }

  private remember(claim: ClaimedSegment): BatchFund {
    this.forgetSome();
    const fund = new FundOf<HeldSegment>(claim, this.options.slots, {
      onShort: (one) => this.askSoon(one),
      onEmpty: (one) => void (one.isMetered && this.release(one)),
    });
    if (this.isSuspect(fund)) fund.meter();
    this.funds.set(claim.batchNumber, fund);
    return fund;
  }

  private forgetSome(): void {
    if (this.funds.size < MOST_REMEMBERED) return;
    for (const [number, fund] of this.funds) {
      if (fund.segments.size > 0) continue;
      this.funds.delete(number);
      return;
    }
  }

  private askSoon(fund: BatchFund): void {
    if (this.asking.has(fund) || fund.isPaused() || fund.wanted === 0) return;
    const asked = this.ask(fund)
      .catch((error: unknown) => {
        this.options.onWarning('money for lines of a batch could not be reserved yet', error);
        this.pause(fund, AWAY_MS);
      })
      .finally(() => {
        this.asking.delete(fund);
        this.options.onReady();
      });
    this.asking.set(fund, asked);
  }

  private async ask(fund: BatchFund): Promise<void> {
    const { batchId } = fund.batch;
    const { claim } = [...fund.segments][0]!;
    const spender = await this.spenderOf(claim);
    const { wanted, underWay } = fund;
    if (wanted === 0) return;
    // If the key may no longer be used, each line ends with that error when it runs.
    if (spender === null) return this.grant(fund, wanted);
    const verdict = await this.repository.reserve({ batchId, spender, holder: this.holder, underWay, wanted });
    if (verdict.kind === 'granted') return this.grant(fund, verdict.lines);
    // The remaining lines of a batch that is over end with it.
    if (verdict.kind === 'closed') return this.pause(fund, LAST_PAUSE_MS);
    this.refused(fund, verdict);
  }

  /**
   * Returns who pays for the batch; null if its key may no longer be used.
   * @throws AppError unavailable while that is unknown
   */
  private async spenderOf(claim: ClaimedSegment): Promise<Spender | null> {
    const { organizationId, workspaceId, apiKeyHash } = claim;
    try {
      const principal = await this.keys.principalOf(claim);
      const { budgets } = principal;
      return { organizationId, workspaceId, apiKeyHash, keyLimit: keyLimitOf(principal), budgets };
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code === 'authentication') return null;
      throw error;
    }
  }

  private grant(fund: BatchFund, lines: number): void {
    fund.lastPauseMs = null;
    fund.reserved = lines;
  }

  private refused(
    fund: BatchFund,
    { error, refusedForMs }: { readonly error: AppError; readonly refusedForMs: number },
  ): void {
    const { graceMs } = this.options;
    const { lastPauseMs } = fund;
    const { batchId } = fund.batch;
    if (refusedForMs >= graceMs) {
      this.options.onWarning(`batch ${batchId} ends its remaining lines without credit`, error);
      fund.exhausted = error;
      return this.endIfExhausted(fund);
    }
    if (lastPauseMs === null) this.options.onWarning(`batch ${batchId} waits for credit`, error);
    fund.lastPauseMs = Math.min(lastPauseMs === null ? FIRST_PAUSE_MS : lastPauseMs * 2, LAST_PAUSE_MS);
    this.pause(fund, Math.min(fund.lastPauseMs, graceMs - refusedForMs));
  }

  private pause(fund: BatchFund, durationMs: number): void {
    fund.pausedUntilMs = monotonicMs() + durationMs;
    this.pausesEndAtMs = Math.max(this.pausesEndAtMs, fund.pausedUntilMs);
    // Timers may be slightly ahead of the clock by which the pause is measured.
    setTimeout(() => this.options.onReady(), durationMs + 5).unref();
  }

  /** A reservation that remains expires after some minutes. */
  private async release({ batch: { batchId } }: BatchFund): Promise<void> {
    try {
      await this.repository.release({ batchId, holder: this.holder });
    } catch (error) {
      this.options.onWarning('a reservation of a batch stays until it is void', error);
    }
  }
}
