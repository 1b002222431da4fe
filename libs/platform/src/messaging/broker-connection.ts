import { Logger } from '@nestjs/common';
import { connect, type ChannelModel } from 'amqplib';
import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Availability } from './availability';
import { describeFailure } from './broker-failure';
import { backoffMs, pause, settledWithin } from './pause';

export interface BrokerConnectionOptions {
  /** `amqp://` or `amqps://`, with the virtual host as its path. */
  readonly amqpUrl: Secret;
  /** How the broker lists the connection, e.g. `gateway publish`. */
  readonly name: string;
}

const HEARTBEAT_SECONDS = 10;
const CONNECT_TIMEOUT_MS = 4_000;
const CLOSE_TIMEOUT_MS = 2_000;
/** A connection that was lost sooner counts as one more failure, so one that keeps breaking is not hammered. */
const STABLE_MS = 10_000;
/** With the connect timeout, reconnecting takes less than ten seconds after the broker is back. */
const RECONNECT = { firstMs: 250, longestMs: 3_000 };

/**
 * One connection to RabbitMQ that is reopened whenever it is lost, for as long as the process lives. An error on it
 * never ends the process; its channels handle messages that were in flight.
 */
export class BrokerConnection {
  readonly #logger = new Logger(BrokerConnection.name);
  readonly #url: string;
  readonly #models = new Availability<ChannelModel>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #lastFailure: unknown;
  #blocked = false;

  constructor(private readonly options: BrokerConnectionOptions) {
    this.#url = withHeartbeat(options.amqpUrl);
  }

  /** Starts connecting and returns at once. */
  start(): void {
    this.#running ??= this.#keepConnected();
  }

  isConnected(): boolean {
    return this.#models.current !== undefined;
  }

  /** Returns true while the broker, short of memory or disk, accepts no messages. */
  isBlocked(): boolean {
    return this.#blocked;
  }

  isCurrent(model: ChannelModel): boolean {
    return this.#models.current === model;
  }

  /** The error that ended the last connection or attempt; undefined if we ended it. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  whenConnected(signal: AbortSignal): Promise<ChannelModel> {
    return this.#models.wait(signal);
  }

  /** Ends the connection for good. */
  async close(): Promise<void> {
    this.#stopping.abort();
    const model = this.#models.current;
    if (model) await settledWithin(model.close(), CLOSE_TIMEOUT_MS);
    if (this.#running) await settledWithin(this.#running, CLOSE_TIMEOUT_MS);
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const lastedMs = await this.#connectOnce();
      if (signal.aborted) return;
      failures = lastedMs > STABLE_MS ? 1 : failures + 1;
      // One log line per loss and per outage, not one per attempt.
      if (lastedMs > 0 || failures === 1) {
        this.#logger.warn(`${this.options.name}: not connected, trying again: ${describeFailure(this.#lastFailure)}`);
      }
      await pause(backoffMs(failures, RECONNECT), signal);
    }
  }

  /** Returns when the connection has ended: the time for which it existed, 0 if there was none. */
  async #connectOnce(): Promise<number> {
    try {
      const model = await connect(this.#url, {
        timeout: CONNECT_TIMEOUT_MS,
        noDelay: true,
        clientProperties: { connection_name: this.options.name },
      });
      const connectedAt = performance.now();
      await this.#useUntilClosed(model);
      return performance.now() - connectedAt;
    } catch (error) {
      this.#lastFailure = error;
      return 0;
    }
  }

  async #useUntilClosed(model: ChannelModel): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#lastFailure = undefined;
    this.#blocked = false;
    model.on('error', (error: Error) => {
      this.#lastFailure = error;
      this.#models.left(model);
    });
    model.on('close', (error?: Error) => {
      this.#lastFailure ??= error ?? new Error('the connection was closed');
      this.#models.left(model);
      closed.resolve();
    });
    model.on('blocked', () => {
      this.#blocked = true;
      this.#logger.warn(`${this.options.name}: the broker is short of memory or disk and takes no messages`);
    });
    model.on('unblocked', () => {
      this.#blocked = false;
      this.#logger.log(`${this.options.name}: the broker takes messages again`);
    });
    model.on('handler-error', (error: Error) => this.#logger.error(describeFailure(error), error.stack));
    if (this.#stopping.signal.aborted) await settledWithin(model.close(), CLOSE_TIMEOUT_MS);
    else {
      this.#logger.log(`${this.options.name}: connected`);
      this.#models.arrived(model);
      await closed.promise;
    }
  }
}

function withHeartbeat(amqpUrl: Secret): string {
  const url = URL.parse(amqpUrl.reveal());
  if (!url || (url.protocol !== 'amqp:' && url.protocol !== 'amqps:')) {
    throw new AppError('server', 'The broker URL is not an amqp:// or amqps:// URL');
  }
  url.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS));
  return url.href;
}
