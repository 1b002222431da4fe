import { CHANGES_OF, FEED_NAMES, type FeedName, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BrokerIdentity } from '../messaging/broker-identity';
import { FanoutReceiver } from '../messaging/fanout';
import type { MessageBus } from '../messaging/message-bus';
import { readFeedEvent } from './feed-event';
import { FeedFollower } from './feed-follower';

export interface FeedsOptions {
  readonly amqpUrl: Secret;
  readonly identity: BrokerIdentity;
  /** Name of the connection for events in the broker's list. */
  readonly serviceName: string;
  readonly names: readonly FeedName[];
}

/** The exchange of a feed's events. */
export const exchangeOf = (feed: FeedName): string => `changes.${feed}`;

/** The feeds that a process follows. */
export class Feeds {
  readonly #followers: ReadonlyMap<FeedName, FeedFollower>;
  readonly #events: FanoutReceiver;

  /** @param bus by which changes are requested; it must not follow a feed itself */
  constructor(bus: Pick<MessageBus, 'call'>, { amqpUrl, identity, serviceName, names }: FeedsOptions) {
    const onSilence = (): void => this.#events.reopen();
    this.#followers = new Map(names.map((name) => [name, new FeedFollower(name, bus, { onSilence })]));
    this.#events = new FanoutReceiver({
      amqpUrl,
      name: `${serviceName} events`,
      identity,
      exchanges: new Map(names.map((name) => [exchangeOf(name), CHANGES_OF[name].queue.owner])),
      receive: (exchange, event) => {
        const name = FEED_NAMES.find((feed) => exchangeOf(feed) === exchange);
        if (name !== undefined) this.#followers.get(name)?.hear(readFeedEvent(event));
      },
    });
  }

  start(): void {
    if (this.#followers.size === 0) return;
    this.#events.start();
    for (const follower of this.#followers.values()) follower.start();
  }

  async close(): Promise<void> {
    for (const follower of this.#followers.values()) follower.stop();
    if (this.#followers.size > 0) await this.#events.close();
  }

  find(name: FeedName): FeedFollower | undefined {
    return this.#followers.get(name);
  }

  /** @throws AppError server for a feed that this process does not follow */
  of(name: FeedName): FeedFollower {
    const follower = this.#followers.get(name);
    if (follower === undefined) {
      throw new AppError('server', 'Internal error', { internal: `this process does not follow ${name}` });
    }
    return follower;
  }
}
