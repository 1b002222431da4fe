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

/** Ready lines per slot below which more are fetched; fetching takes some turns of the event loop. */
const READY_PER_SLOT = 8;
/** For this time after lines of a quota were given back, only as many as will soon be called are fetched. */
const GIVEN_BACK_MS = 15_000;
/** Time that a new worker takes to start. */
const WORKER_START_MS = 30_000;
/** Number of quotas whose last pause is remembered. */
const MOST_PAUSES = 2_000;

/** A call that was begun. */
export interface CallTicket {
  readonly segment: HeldSegment;
  readonly window: WindowTicket;
  readonly probesQuota: boolean;
  readonly probesCaller: boolean;
}

/** What the end of a call means for its quota. */
export interface CallNews {
  readonly quota: BreakerNews;
  readonly caller: BreakerNews;
  readonly window: CallEnd;
  /** For how long the provider asked for a pause of the quota; null if it did not. */
  readonly pauseMs: number | null;
  /** True if the provider answered at all, even with a refusal. */
  readonly isHeard: boolean;
}

export interface LaneQuotaOptions {
  /** Most lines in flight in the whole lane. */
  readonly slots: number;
  /** Returns the quota groups of the current catalogue. */
  readonly groups: () => QuotaGroups;
  /** Called when a probe may be made. */
  readonly onProbeDue: () => void;
  readonly nowMs?: () => number;
}

/**
 * Decides what may be called and fetched of each quota (an account at a provider with one upstream model or quota
 * group) and for each API key: as many concurrent calls as the provider accepts, none while it asks for a pause, and
 * one at a time while calls only fail. A stopped quota or key does not stop others, even at the same provider.
 */
export class LaneQuotas {
  private readonly pauses: QuotaPauses;
  private readonly windows: QuotaWindows;
  private readonly givenBack: QuotaPauses;
  private readonly breakers: CircuitBreakers;
  /** Breakers of API keys, for problems of their owners, credentials or own keys. */
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

  /**
   * Returns the milliseconds until a probe for the quota and the API key of a segment may be made; 0 while lines may be
   * called.
   */
  untilProbeMs({ quota, claim }: HeldSegment): number {
    return Math.max(this.breakers.remainingMs(quota), this.callers.remainingMs(claim.apiKeyHash));
  }

  /** Whether lines of a segment wait behind a breaker, for credit or for the end of a pause. */
  isHeldUp({ quota, claim, fund }: HeldSegment): boolean {
    return fund.isPaused() || this.isQuotaHeldUp(quota) || this.callers.isOpen(claim.apiKeyHash);
  }

  /** Returns segments behind an open breaker that may not be called now, except those with running lines. */
  unreachable(held: Iterable<HeldSegment>): HeldSegment[] {
    if (!this.breakers.hasOpen && !this.callers.hasOpen) return [];
    return [...held].filter(
      (segment) => segment.isIdle && !segment.isStopped && this.isBehindBreaker(segment) && !this.isAdmitted(segment),
    );
  }

  /** Returns whether the provider accepts the calls of a quota and has not answered for a long time. */
  isSilent(quota: string): boolean {
    return this.windows.isSilent(quota);
  }

  /** Returns whether a quota may use a spare slot, which exists only because other quotas are silent. */
  mayUseSpare(quota: string): boolean {
    return this.windows.mayUseSpare(quota);
  }

  /** Calls under way of silent quotas. */
  silentCalls(): number {
    return this.windows.silentCalls();
  }

  /** Lines at once that the quota gets. In a long pause one, so that no workers are started that could not call. */
  limitOf(quota: string): number {
    const isOne = this.breakers.isOpen(quota) || this.pauses.remainingMs(quota) > WORKER_START_MS;
    return isOne ? 1 : this.windows.limitOf(quota);
  }

  /** Quotas whose breakers are open. */
  open(): string[] {
    return [...this.breakers.open()];
  }

  /**
   * Returns whether few held lines wait only for a slot. For a quota with a low limit, only lines that will run soon
   * count.
   */
  isShort(held: Iterable<HeldSegment>): boolean {
    let runnable = 0;
    for (const [quota, lines] of runnableByQuota(this.ofPayingCallers(held))) {
      if (this.isQuotaHeldUp(quota) || this.windows.isStuck(quota)) continue;
      runnable += Math.min(lines, this.enoughFor(quota));
    }
    return runnable < this.options.slots * READY_PER_SLOT;
  }

  /**
   * Returns the quotas and keys for which no lines are fetched: enough lines are held, or none could be called. Behind
   * an open breaker one line is enough, the next probe.
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
   * Yields segments to give back, to make room for lines that can run: those that may not be called now, the most
   * recently fetched first. Skips segments with a line that is being called or whose result is being written. A quota
   * that is only busy keeps its next lines.
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
   * Pauses the quota for as long as its provider asks. If it answered nothing since its previous request to pause,
   * lines are tried one at a time afterwards.
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

  /** Lines that wait for their key or for credit do not count for their quota; otherwise they would keep others out. */
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
    // Calls that were already running may extend the pause. An API key hash never equals a quota's name.
    const remaining = (): number => Math.max(breakers.remainingMs(name), this.pauses.remainingMs(name));
    // Timers may be slightly ahead of the clock by which a pause is measured.
    const wake = (): void => {
      const remainingMs = remaining();
      if (remainingMs > 0) setTimeout(wake, remainingMs).unref();
      else this.options.onProbeDue();
    };
    setTimeout(wake, remaining()).unref();
  }
}
