import { setImmediate as nextTurn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Channel, ChannelModel } from 'amqplib';
import { Availability } from './availability';
import type { BrokerConnection } from './broker-connection';
import { brokerFailure, describeFailure } from './broker-failure';
import { backoffMs, pause, settledWithin } from './pause';

export interface ChannelPlan<C extends Channel> {
  /** Name in the log, e.g. `consumer of batches`. */
  readonly name: string;
  readonly open: (model: ChannelModel) => Promise<C>;
  /** Makes a new channel ready; the channel counts as open once this has resolved. */
  readonly setUp: (channel: C, model: ChannelModel) => Promise<void>;
  /** Called when the channel is lost, with everything that was pending on it. */
  readonly onClosed?: (channel: C) => void;
  /** Called when the channel could not be set up; `failure` is the broker's reason, if it gave one. */
  readonly onSetUpFailed?: (failure: unknown) => void;
}

const SET_UP_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;
const REOPEN = { firstMs: 1_000, longestMs: 10_000 };

/**
 * A channel that is reopened and set up after every loss: at once when the connection comes back, and after an
 * increasing delay when the channel itself failed while the connection remained.
 */
export class ManagedChannel<C extends Channel> {
  readonly #logger = new Logger(ManagedChannel.name);
  readonly #channels = new Availability<C>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Number of consecutive losses of a channel whose connection remained, since one has lasted. */
  #losses = 0;
  /** Ends the session in progress, whether or not the broker still answers. */
  #endSession: ((failure?: Error) => void) | undefined;

  constructor(
    private readonly connection: BrokerConnection,
    private readonly plan: ChannelPlan<C>,
  ) {}

  start(): void {
    this.#running ??= this.#keepOpen();
  }

  get current(): C | undefined {
    return this.#channels.current;
  }

  /** @throws AppError `unavailable` if there is no open channel after `waitMs` */
  async whenOpen(waitMs: number): Promise<C> {
    if (this.#channels.current) return this.#channels.current;
    try {
      return await this.#channels.wait(AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(waitMs)]));
    } catch {
      throw brokerFailure(`${this.plan.name}: no channel to the broker`, this.connection.lastFailure);
    }
  }

  /** Closes the channel, if it is still the current one, and opens another. */
  reopen(channel: C, failure: Error): void {
    if (this.#channels.current === channel) this.#endSession?.(failure);
  }

  /** Closes the channel for good. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#endSession?.();
    if (this.#running) await settledWithin(this.#running, CLOSE_TIMEOUT_MS);
  }

  async #keepOpen(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const model = await this.#connected(signal);
      if (!model) return;
      await this.#session(model);
      // The connection may notice its own end in this turn of the event loop.
      await nextTurn();
      if (signal.aborted || !this.connection.isCurrent(model)) continue;
      this.#losses += 1;
      await pause(backoffMs(this.#losses, REOPEN), signal);
    }
  }

  async #connected(signal: AbortSignal): Promise<ChannelModel | undefined> {
    try {
      return await this.connection.whenConnected(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #session(model: ChannelModel): Promise<void> {
    let channel: C | undefined;
    try {
      channel = await this.plan.open(model);
      const ended = this.#watch(channel);
      if (this.#stopping.signal.aborted) return;
      await this.#makeReady(channel, model, ended);
      this.#channels.arrived(channel);
      const openedAt = performance.now();
      const failure = await ended;
      if (performance.now() - openedAt > REOPEN.longestMs) this.#losses = 0;
      if (failure) throw failure;
    } catch (failure) {
      await this.#report(failure, channel);
    } finally {
      this.#endSession = undefined;
      if (channel) this.#abandon(channel);
    }
  }

  /** Resolves when the channel has ended: with the reason, or with nothing if we ended it. Never rejects. */
  #watch(channel: C): Promise<Error | undefined> {
    const ended = Promise.withResolvers<Error | undefined>();
    let reason: Error | undefined;
    channel.on('error', (error: Error) => (reason = error));
    channel.on('close', () => ended.resolve(reason ?? new Error('the channel was closed')));
    channel.on('handler-error', (error: Error) => this.#logger.error(describeFailure(error), error.stack));
    this.#endSession = (failure) => ended.resolve(failure);
    return ended.promise;
  }

  async #makeReady(channel: C, model: ChannelModel, ended: Promise<Error | undefined>): Promise<void> {
    const endedFirst = ended.then((failure) => {
      throw failure ?? new Error('the channel was closed');
    });
    const ready = Promise.race([this.plan.setUp(channel, model), endedFirst]);
    if (!(await settledWithin(ready, SET_UP_TIMEOUT_MS))) throw new Error('the broker did not answer in time');
    await ready;
  }

  async #report(failure: unknown, channel: C | undefined): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#logger.warn(`${this.plan.name}: channel lost: ${describeFailure(failure)}`);
    if (channel && this.#channels.current === channel) return;
    await nextTurn();
    this.plan.onSetUpFailed?.(this.connection.isConnected() ? failure : (this.connection.lastFailure ?? failure));
  }

  #abandon(channel: C): void {
    this.#channels.left(channel);
    // Not awaited: a broker that does not answer must not delay the opening of another channel.
    channel.close().catch(() => this.#logger.debug(`${this.plan.name}: was closed already`));
    this.plan.onClosed?.(channel);
  }
}
