import { queues, type CallContract, type FeedName, type JobContract } from '@libs/contracts';
import { brokerFailure } from '../messaging/broker-failure';
import { MessageBus } from '../messaging/message-bus';
import { settledWithin } from '../messaging/pause';
import type { Feeds } from './feeds';

/** Longest time that the answer to a change waits until this process knows the change. */
const MOST_WAIT_MS = 1_000;

/** The feed of the app that answers on a queue. */
const FEED_OF: ReadonlyMap<string, FeedName> = new Map([
  [queues.auth.name, 'access'],
  [queues.credentials.name, 'credentials'],
]);

/**
 * The message bus of a process that follows feeds. An app that is known to be unavailable is not called: the call fails
 * at once instead of timing out. Once a call that changes a feed is answered, the process knows the change, so the
 * caller's next request is judged by it. That includes answers that are errors.
 */
export class FollowingBus extends MessageBus {
  constructor(
    private readonly bus: MessageBus,
    private readonly feeds: Pick<Feeds, 'find'>,
  ) {
    super();
  }

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    this.#checkOwner(contract.queue.name);
    const feed = contract.changes && this.feeds.find(contract.changes);
    if (feed === undefined) return this.bus.call(contract, request);
    try {
      return await this.bus.call(contract, request);
    } finally {
      await settledWithin(feed.catchUp(), MOST_WAIT_MS);
    }
  }

  override send<P extends object>(contract: JobContract<P>, payload: P): Promise<void> {
    return this.bus.send(contract, payload);
  }

  /** @throws AppError unavailable */
  #checkOwner(queue: string): void {
    const name = FEED_OF.get(queue);
    const isAway = name !== undefined && this.feeds.find(name)?.isAway(performance.now());
    if (isAway) throw brokerFailure(`the app that answers on ${queue} is away`);
  }
}
