import { Logger } from '@nestjs/common';
import type { FeedChanges, FeedName, FeedPosition } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { PeriodicTask } from '../health/periodic-task';
import type { FanoutSender } from '../messaging/fanout';
import { settledWithin } from '../messaging/pause';
import type { FeedSource } from './feed-source';

/** Interval of checks for changes that this process did not make: by another replica, a job, or SQL. */
const LOOK_EVERY_MS = 200;
const PRUNE_EVERY_MS = 60_000;
const ROWS_PER_STATEMENT = 1_000;
/** A backlog is removed in several runs. */
const STATEMENTS_PER_PASS = 10;
/**
 * Longest time that the answer to a call waits for its change to be published. Followers that miss a change poll for
 * it.
 */
const MOST_WAIT_MS = 500;

/**
 * Publishes the changes of a feed as soon as they are committed. Any number of replicas may do so: receivers ignore a
 * change that they already know.
 */
export class FeedOwner {
  readonly #logger = new Logger(FeedOwner.name);
  readonly #look: PeriodicTask;
  readonly #pruning: PeriodicTask;
  #published: FeedPosition | null = null;
  #publishing: Promise<void> | undefined;
  #publishingNext: Promise<void> | undefined;
  #isFailing = false;

  constructor(
    readonly feed: FeedName,
    private readonly source: FeedSource,
    private readonly sender: Pick<FanoutSender, 'send'>,
  ) {
    const look = { name: `feeds.publish-${feed}`, everyMs: LOOK_EVERY_MS, isImmediate: true };
    this.#look = new PeriodicTask(look, () => this.#publishNew());
    this.#pruning = new PeriodicTask({ name: `feeds.prune-${feed}`, everyMs: PRUNE_EVERY_MS }, () => this.#prune());
  }

  start(): void {
    this.#look.start();
    this.#pruning.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#look.stop(), this.#pruning.stop()]);
  }

  /** Resolves when everything committed before this call is published, at the latest after 500 ms. Never rejects. */
  async announce(): Promise<void> {
    await settledWithin(this.#publishNew(), MOST_WAIT_MS);
  }

  /** Runs one at a time. Calls during a run share the next run, which sees what they committed. */
  #publishNew(): Promise<void> {
    if (this.#publishing === undefined) {
      this.#publishing = this.#publish().finally(() => (this.#publishing = undefined));
      return this.#publishing;
    }
    this.#publishingNext ??= this.#publishing.then(() => {
      this.#publishingNext = undefined;
      return this.#publishNew();
    });
    return this.#publishingNext;
  }

  async #publish(): Promise<void> {
    try {
      const changes = await this.source.changesSince(this.feed, this.#published);
      if (isNews(changes, this.#published)) await this.sender.send(changes);
      this.#published = changes.position;
      this.#isFailing = false;
    } catch (thrown) {
      const { internal, code } = AppError.from(thrown);
      if (!this.#isFailing) this.#logger.warn(`changes of ${this.feed} are not published: ${internal ?? code}`);
      this.#isFailing = true;
    }
  }

  async #prune(): Promise<void> {
    try {
      for (let statement = 0; statement < STATEMENTS_PER_PASS && !this.#pruning.isStopped; statement += 1) {
        if ((await this.source.prune(this.feed, ROWS_PER_STATEMENT)) < ROWS_PER_STATEMENT) return;
      }
    } catch (thrown) {
      this.#logger.warn(`old changes of ${this.feed} were not deleted: ${AppError.from(thrown).internal ?? 'unknown'}`);
    }
  }
}

/**
 * Returns whether the feed changed since `published`; false in a process that has just started and published nothing
 * yet.
 */
function isNews({ position }: FeedChanges, published: FeedPosition | null): boolean {
  return published !== null && (position.revision !== published.revision || position.mark !== published.mark);
}
