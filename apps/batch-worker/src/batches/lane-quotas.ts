import type { QuotaGroups } from '@libs/inference';
import { monotonicMs } from '@libs/inference';
import type { KeptOut } from '@libs/persistence';
import { CircuitBreakers, type BreakerChange, type BreakerNews } from './circuit-breakers';
import type { HeldSegment } from './held-segment';
import { countBreakerOpening, showOpenBreakers } from './lane-metrics';
import { runnableByQuota, waitingByQuota } from './line-order';
import { ProbeOrder } from './probe-order';
import { QuotaPauses } from './quota-pauses';
import { QuotaWindows, type CallEnd, type WindowTicket } from './quota-windows';

/** Ready lines per slot below which more are fetched, which takes some turns. */
const READY_PER_SLOT = 8;
/** For so long of a quota whose lines were given back no more is fetched than will soon be called. */
const GIVEN_BACK_MS = 15_000;
/** Number of quotas whose last pause is remembered. */
const MOST_PAUSES = 2_000;

/** A call that was begun. */
export interface CallTicket {
  readonly segment: HeldSegment;
  readonly window: WindowTicket;
  readonly probesQuota: boolean;
  readonly probesCaller: boolean;
}

/** What the end of a call says. */
export interface CallNews {
  readonly quota: BreakerNews;
  readonly caller: BreakerNews;
  readonly window: CallEnd;
  /** For how long the provider asked for quiet on the quota; null where it did not. */
  readonly pauseMs: number | null;
  /** Whether the provider said anything, if only that it refuses. */
  readonly isHeard: boolean;
}

export interface LaneQuotaOptions {
  /** Lines in flight in the whole lane, at most. */
  readonly slots: number;
  /** Of the catalogue as it is now. */
  readonly groups: () => QuotaGroups;
  /** Called when a probe may be made. */
  readonly onProbeDue: () => void;
  readonly nowMs?: () => number;
}

/**
 * What may be called and fetched of each quota (an account at a provider, and one upstream model or quota group) and
 * for each API key: as many calls at once as the provider takes, none while it asks for quiet, and one at a time
 * while calls only fail. What stops one quota or key stops no other, at the same provider or another.
 */
export class LaneQuotas {
  private readonly pauses: QuotaPauses;
  private readonly windows: QuotaWindows;
  private readonly givenBack: QuotaPauses;
  private readonly breakers: CircuitBreakers;
  /** Of API keys: their owners, credentials or own keys are the trouble. */
  private readonly callers: CircuitBreakers;
  /** Chooses the probe of each quota whose breaker is open. */
  readonly probes: ProbeOrder;
  private readonly lastPauses = new Map<string, { readonly untilMs: number; isAnswered: boolean }>();
  private readonly nowMs: () => number;

  constructor(private readonly options: LaneQuotaOptions) {
    const { slots, nowMs = monotonicMs } = options;
    this.nowMs = nowMs;
    this.pauses = new QuotaPauses(nowMs);
    this.windows = new QuotaWindows(slots, nowMs);
    this.givenBack = new QuotaPauses(nowMs);
    this.breakers = new CircuitBreakers(slots, nowMs);
    this.callers = new CircuitBreakers(slots, nowMs);
    this.probes = new ProbeOrder(this.breakers, nowMs);
  }

  mayCall(segment: HeldSegment): boolean {
    const { quota } = segment;
    return this.isAdmitted(segment) && (this.breakers.isOpen(quota) || this.windows.admits(quota));
  }

  begin(segment: HeldSegment): CallTicket {
    const { quota, claim } = segment;
    return {
      segment,
      window: this.windows.begin(quota),
      probesQuota: this.breakers.begin(quota),
      probesCaller: this.callers.begin(claim.apiKeyHash),
    };
  }

  end(
    { segment, window, probesQuota, probesCaller }: CallTicket,
    { quota, caller, window: callEnd, pauseMs, isHeard }: CallNews,
  ): void {
    this.windows.end(window, callEnd, isHeard);
    const asksForQuiet = pauseMs !== null && this.pause(segment, window.startedAtMs, pauseMs);
    const said = asksForQuiet && !probesQuota ? 'none' : quota;
    const change = this.breakers.end(segment.quota, probesQuota, said, pauseMs);
    if (quota === 'worked') {
      this.answeredSincePause(segment.quota);
      this.probes.answered(segment);
    } else if (quota === 'failed' && !asksForQuiet) {
      this.probes.failed(segment);
    }
    if (change === 'closed') this.windows.restart(segment.quota);
    const { apiKeyHash, provider } = segment.claim;
    this.changed(change, this.breakers, segment.quota, 'quota', provider);
    this.changed(this.callers.end(apiKeyHash, probesCaller, caller), this.callers, apiKeyHash, 'caller', provider);
  }

  whenPauseOver(quota: string, then: () => void): void {
    this.pauses.whenOver(quota, then);
  }

  /** Milliseconds until a probe of the quota and the API key of a segment may be made; 0 while lines may be called. */
  untilProbeMs({ quota, claim }: HeldSegment): number {
    return Math.max(this.breakers.remainingMs(quota), this.callers.remainingMs(claim.apiKeyHash));
  }

  /** Whether lines of a segment wait behind a breaker, for credit or for the end of a pause. */
  isHeldUp({ quota, claim, fund }: HeldSegment): boolean {
    return fund.isPaused() || this.isQuotaHeldUp(quota) || this.callers.isOpen(claim.apiKeyHash);
  }

  /** Segments behind an open breaker that may not be called now, save what is under way. */
  unreachable(held: Iterable<HeldSegment>): HeldSegment[] {
    if (!this.breakers.hasOpen && !this.callers.hasOpen) return [];
    return [...held].filter(
      (segment) => segment.isIdle && !segment.isStopped && this.isBehindBreaker(segment) && !this.isAdmitted(segment),
    );
  }

  /** Whether the provider accepts the calls of a quota and says nothing for long. */
  isSilent(quota: string): boolean {
    return this.windows.isSilent(quota);
  }

  /** Whether a quota may use a slot that is there only because others are silent. */
  mayUseSpare(quota: string): boolean {
    return this.windows.mayUseSpare(quota);
  }

  /** Calls under way of silent quotas. */
  silentCalls(): number {
    return this.windows.silentCalls();
  }

  /** Lines at once that the quota gets. */
  limitOf(quota: string): number {
    return this.breakers.isOpen(quota) ? 1 : this.windows.limitOf(quota);
  }

  /** Quotas whose breakers are open. */
  open(): string[] {
    return [...this.breakers.open()];
  }

  /** Whether few lines are held that wait for a slot only; of a quota for few at once none but those soon run. */
  isShort(held: Iterable<HeldSegment>): boolean {
    let runnable = 0;
    for (const [quota, lines] of runnableByQuota(this.ofPayingCallers(held))) {
      if (this.isQuotaHeldUp(quota) || this.windows.isStuck(quota)) continue;
      runnable += Math.min(lines, this.enoughFor(quota));
    }
    return runnable < this.options.slots * READY_PER_SLOT;
  }

  /**
   * What no lines are fetched of: enough are held, or they could not be called. Behind an open breaker one line is
   * enough, which is the next probe.
   */
  keptOut(held: Iterable<HeldSegment>): KeptOut {
    const quotas = new Set(this.pauses.active());
    const waiting = waitingByQuota(this.ofPayingCallers(held));
    for (const [quota, lines] of waiting) {
      if (lines >= this.mostHeldOf(quota) || this.windows.isStuck(quota)) quotas.add(quota);
    }
    for (const quota of this.breakers.open()) {
      if (!this.breakers.admits(quota) || (waiting.get(quota) ?? 0) > 0) quotas.add(quota);
    }
    const groups = this.options.groups();
    return {
      models: [...quotas].flatMap((quota) => groups.membersOf(quota)),
      apiKeyHashes: this.keptOutKeys(held),
      segments: this.probes.postponed(),
    };
  }

  /**
   * What may be given back to make room for lines that can run: segments that may not be called now, those fetched
   * last before others, none with a line that is being called or whose result is being written. A quota that is only
   * busy keeps the lines that come next.
   */
  *blocked(held: ReadonlySet<HeldSegment>): Generator<HeldSegment> {
    const waiting = waitingByQuota(held);
    for (const segment of [...held].reverse()) {
      const { quota } = segment;
      if (!segment.isIdle || segment.isStopped || segment.done || this.mayCall(segment)) continue;
      const left = waiting.get(quota)! - segment.waiting;
      if (left < this.windows.limitOf(quota) && !this.isHeldUp(segment)) continue;
      waiting.set(quota, left);
      this.givenBack.pause(quota, GIVEN_BACK_MS);
      yield segment;
    }
  }

  /**
   * Leaves the quota alone for as long as its provider asks. If it answered nothing since it asked before, one line at
   * a time is tried afterwards.
   */
  private pause({ quota, claim }: HeldSegment, callBeganMs: number, durationMs: number): true {
    const last = this.lastPauses.get(quota);
    this.pauses.pause(quota, durationMs);
    // Calls that were under way when the last pause began are part of it.
    if (last !== undefined && callBeganMs < last.untilMs) return true;
    const change = last?.isAnswered === false ? this.breakers.trip(quota, durationMs) : null;
    this.changed(change, this.breakers, quota, 'quota', claim.provider);
    if (this.lastPauses.size >= MOST_PAUSES) this.lastPauses.clear();
    this.lastPauses.set(quota, { untilMs: this.nowMs() + durationMs, isAnswered: false });
    return true;
  }

  private answeredSincePause(quota: string): void {
    const last = this.lastPauses.size > 0 ? this.lastPauses.get(quota) : undefined;
    if (last !== undefined) last.isAnswered = true;
  }

  private isAdmitted({ quota, claim, fund }: HeldSegment): boolean {
    if (fund.isPaused() || this.pauses.remainingMs(quota) > 0) return false;
    return this.callers.admits(claim.apiKeyHash) && this.breakers.admits(quota);
  }

  private isBehindBreaker({ quota, claim }: HeldSegment): boolean {
    return this.breakers.isOpen(quota) || this.callers.isOpen(claim.apiKeyHash);
  }

  private isQuotaHeldUp(quota: string): boolean {
    return this.pauses.remainingMs(quota) > 0 || this.breakers.isOpen(quota);
  }

  /** Lines that wait for their key or for credit do not count as lines of their quota, or they would keep others out. */
  private *ofPayingCallers(held: Iterable<HeldSegment>): Generator<HeldSegment> {
    const nowMs = monotonicMs();
    for (const segment of held) {
      if (!this.callers.isOpen(segment.claim.apiKeyHash) && !segment.fund.isPaused(nowMs)) yield segment;
    }
  }

  private keptOutKeys(held: Iterable<HeldSegment>): string[] {
    const open = new Set(this.callers.open());
    if (open.size === 0) return [];
    const isHeld = new Set<string>();
    for (const { claim, waiting } of held) if (waiting > 0) isHeld.add(claim.apiKeyHash);
    return [...open].filter((key) => isHeld.has(key) || !this.callers.admits(key));
  }

  private mostHeldOf(quota: string): number {
    return this.givenBack.remainingMs(quota) > 0 ? this.limitOf(quota) : this.enoughFor(quota);
  }

  private enoughFor(quota: string): number {
    return this.windows.limitOf(quota) * READY_PER_SLOT;
  }

  private changed(
    change: BreakerChange,
    breakers: CircuitBreakers,
    name: string,
    scope: 'quota' | 'caller',
    provider: string,
  ): void {
    if (change === null) return;
    if (change === 'opened') countBreakerOpening(scope, provider);
    if (scope === 'quota') showOpenBreakers(this.open());
    if (change === 'closed') return;
    // A call that was already running may extend the pause. API key hashes never equal a quota's name.
    const remaining = (): number => Math.max(breakers.remainingMs(name), this.pauses.remainingMs(name));
    // Timers may be a little ahead of the clock by which a pause is measured.
    const wake = (): void => {
      const remainingMs = remaining();
      if (remainingMs > 0) setTimeout(wake, remainingMs).unref();
      else this.options.onProbeDue();
    };
    setTimeout(wake, remaining()).unref();
  }
}
