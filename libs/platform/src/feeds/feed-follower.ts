import { Logger } from '@nestjs/common';
import { CHANGES_OF, type FeedChanges, type FeedName, type FeedPosition } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '../messaging/message-bus';
import type { ChangeFeed, ChangeListener } from './change-feed';
import { feedChecksTotal, feedForgottenTotal, feedMissedTotal, feedRevision, showCheckAge } from './feed-metrics';
import { RecentChanges } from './recent-changes';

export interface FeedFollowerOptions {
  readonly monotonicNowMs: () => number;
  /** Called when changes were found that no event had announced. */
  readonly onSilence: () => void;
}

/** Time between questions: each is answered before the answer to the previous one is too old. */
const ASK_EVERY_MS = 400;
/** Less than the promised second, by the time that it takes to use an answer. */
const FRESH_FOR_MS = 750;
const AWAY_AFTER_MS = 1_000;
/** Most concurrent requests; each ends with the timeout of its contract. */
const MOST_QUESTIONS = 5;
/** Shortest time between two requests after a gap in the events. */
const GAP_PAUSE_MS = 50;

/**
 * Follows the changes of a feed: by the events that its owner publishes and by asking it, a few times per second, what
 * changed since the last known change.
 *
 * Only the answers prove that nothing was missed. The age of the known state counts from the moment a request was sent,
 * so neither a lost event nor a stalled connection makes it look newer than it is.
 */
export class FeedFollower implements ChangeFeed {
  readonly #logger = new Logger(FeedFollower.name);
  readonly #changes = new RecentChanges();
  readonly #listeners: ChangeListener[] = [];
  readonly #awayListeners: (() => void)[] = [];
  readonly #nowMs: () => number;
  readonly #onSilence: () => void;
  #position: FeedPosition | null = null;
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  /** True if the last request failed, or one has waited too long; later requests may still be running. */
  #isFailing = false;
  #questions = 0;
  #settling = Promise.withResolvers<void>();
  #catchingUp: Promise<void> | undefined;
  #catchingUpNext: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #gapTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The last revision that an event announced. */
  #heard = 0;
  /** The revision known at `atMs`. If no event has announced it by a later request, its event counts as missed. */
  #expected = { revision: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(
    readonly feed: FeedName,
    private readonly bus: Pick<MessageBus, 'call'>,
    options: Partial<FeedFollowerOptions> = {},
  ) {
    this.#nowMs = options.monotonicNowMs ?? (() => performance.now());
    this.#onSilence = options.onSilence ?? (() => undefined);
    showCheckAge(feed, () => this.#confirmedAtMs);
  }

  start(): void {
    void this.#ask();
    this.#timer = setInterval(() => void this.#ask(), ASK_EVERY_MS).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#gapTimer);
  }

  get confirmedAtMs(): number {
    return this.#confirmedAtMs;
  }

  isFresh(nowMs: number): boolean {
    return nowMs - this.#confirmedAtMs < FRESH_FOR_MS;
  }

  isAway(nowMs: number): boolean {
    return this.#isFailing && !this.isFresh(nowMs);
  }

  settled(): Promise<void> {
    if (this.#questions === 0) void this.#ask();
    return this.#settling.promise;
  }

  moment(): number {
    return this.#changes.count;
  }

  isUnchangedSince(moment: number, subjects: readonly string[]): boolean {
    return this.#changes.areUnchangedSince(moment, subjects);
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  onAway(listener: () => void): void {
    this.#awayListeners.push(listener);
  }

  /** Resolves when a question that was asked after this call has ended, whether it was answered or not. */
  catchUp(): Promise<void> {
    if (this.#catchingUp === undefined) {
      this.#catchingUp = this.#ask(true).finally(() => (this.#catchingUp = undefined));
      return this.#catchingUp;
    }
    this.#catchingUpNext ??= this.#catchingUp.then(() => {
      this.#catchingUpNext = undefined;
      return this.catchUp();
    });
    return this.#catchingUpNext;
  }

  /** Takes an event of the owner. Events may be lost, come twice, or come late. */
  hear({ since, position, subjects }: FeedChanges): void {
    this.#heard = Math.max(this.#heard, position.revision);
    const known = this.#position;
    if (known !== null && isSame(position, known)) return;
    if (since === null) this.#forgetAll(position);
    else if (known !== null && isSame(since, known)) this.#moveTo(position, subjects);
    else if (known === null || position.revision > known.revision) {
      this.#apply(subjects);
      this.#gapTimer ??= setTimeout(() => {
        this.#gapTimer = undefined;
        void this.catchUp();
      }, GAP_PAUSE_MS).unref();
    }
  }

  async #ask(isUrgent = false): Promise<void> {
    if (this.#isStopped || (!isUrgent && this.#questions >= MOST_QUESTIONS)) return;
    const askedAtMs = this.#nowMs();
    const since = this.#position;
    this.#questions += 1;
    let isOver = false;
    const lookWhether = (): void => {
      if (!isOver && this.#confirmedAtMs < askedAtMs) this.#miss();
    };
    // The answer may be in the socket of a process that was stopped for a while, so readable data is read first.
    const overdue = setTimeout(() => setImmediate(lookWhether), AWAY_AFTER_MS).unref();
    try {
      const changes = await this.bus.call(CHANGES_OF[this.feed], { ...since });
      this.#take(changes, since, askedAtMs);
    } catch (thrown) {
      const { internal, code } = AppError.from(thrown);
      this.#fail(internal ?? code);
      feedChecksTotal.inc({ feed: this.feed, outcome: 'failed' });
    } finally {
      isOver = true;
      clearTimeout(overdue);
      this.#questions -= 1;
      this.#settle();
    }
  }

  #take(changes: FeedChanges, since: FeedPosition | null, askedAtMs: number): void {
    feedChecksTotal.inc({ feed: this.feed, outcome: 'answered' });
    const { position, subjects } = changes;
    const isTold = since !== null && changes.since !== null && isSame(changes.since, since);
    if (!isTold) this.#forgetAll(position);
    // An event may have been faster than this answer.
    else if (this.#position === null || position.revision >= this.#position.revision) this.#moveTo(position, subjects);
    else this.#apply(subjects);
    this.#confirmedAtMs = Math.max(this.#confirmedAtMs, askedAtMs);
    if (this.#isFailing) this.#logger.log(`changes of ${this.feed} can be asked for again`);
    this.#isFailing = false;
    this.#lookForMissed(isTold);
  }

  /** Counts changes that a request returned and that no event has announced since. */
  #lookForMissed(isTold: boolean): void {
    const revision = this.#position?.revision ?? 0;
    const nowMs = this.#nowMs();
    if (!isTold) this.#heard = revision;
    else if (nowMs - this.#expected.atMs < ASK_EVERY_MS) return;
    else if (this.#expected.revision > this.#heard) {
      feedMissedTotal.inc({ feed: this.feed }, this.#expected.revision - this.#heard);
      this.#heard = this.#expected.revision;
      this.#onSilence();
    }
    this.#expected = { revision, atMs: nowMs };
  }

  #forgetAll(position: FeedPosition): void {
    if (this.#position !== null) feedForgottenTotal.inc({ feed: this.feed });
    this.#changes.addUnknown();
    this.#moveTo(position, []);
    for (const listener of this.#listeners) listener(null);
  }

  #moveTo(position: FeedPosition, subjects: readonly string[]): void {
    this.#position = position;
    feedRevision.set({ feed: this.feed }, position.revision);
    this.#apply(subjects);
  }

  #apply(subjects: readonly string[]): void {
    if (subjects.length === 0) return;
    this.#changes.add(subjects);
    for (const listener of this.#listeners) listener(subjects);
  }

  #miss(): void {
    this.#fail(`no answer within ${AWAY_AFTER_MS} ms`);
    this.#settle();
  }

  #fail(reason: string): void {
    if (this.#isStopped) return;
    if (!this.#isFailing) this.#logger.warn(`changes of ${this.feed} cannot be asked for: ${reason}`);
    this.#isFailing = true;
    if (this.isFresh(this.#nowMs())) return;
    for (const listener of this.#awayListeners) listener();
  }

  #settle(): void {
    this.#settling.resolve();
    this.#settling = Promise.withResolvers<void>();
  }
}

function isSame(one: FeedPosition, other: FeedPosition): boolean {
  return one.revision === other.revision && one.mark === other.mark;
}
