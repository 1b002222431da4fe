import { Logger } from '@nestjs/common';
import type { Contract } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import { describeFailure, brokerFailure } from './broker-failure';
import { isBrokerAway } from './confirming-publisher';
import type { JobSender } from './job-sender';
import { encodeJob } from './message-codec';
import { outboxLagSeconds, outboxRelayedTotal, outboxStuckMessages } from './messaging-metrics';
import type { OutboxDelay, OutboxMessage, OutboxSource } from './outbox-source';
import { backoffMs, pause, settledWithin } from './pause';

interface PassResult {
  /** A full claim was at least partly confirmed: there may be more. */
  readonly isMoreWaiting: boolean;
  /** The broker or the database failed: the next pass must wait. */
  readonly failure: unknown;
}

/** Messages that are leased to this process at a time. */
const BATCH_SIZE = 500;
const INTERVAL_MS = 1_000;
const BACKOFF = { firstMs: 1_000, longestMs: 5_000 };
const MESSAGE_BACKOFF = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** Longer than a message may take to be confirmed or to fail. */
const LEASE_MS = 30_000;
/**
 * After this time, confirmed messages are deleted and the next ones are claimed, even if some still wait for their
 * confirm.
 */
const FLUSH_MS = 1_000;
const STOP_MS = 4_000;
const MEASURE_MS = 5_000;
const STUCK_ATTEMPTS = 3;

/**
 * Sends the messages in the outbox. A message is deleted only after the broker's confirm, so a crash can send it twice
 * but never lose it. Runs when woken and every second.
 *
 * Messages are leased, sent without a transaction, and deleted as they are confirmed. One that is not confirmed, or
 * that can never be sent (unknown contract, too large), occupies one of 500 places and is retried after an increasing
 * delay; the others continue. While the broker is unavailable no failure counts against a message, and one is claimed
 * as a probe.
 */
export class OutboxRelay {
  readonly #logger = new Logger(OutboxRelay.name);
  readonly #jobs: ReadonlyMap<string, Contract>;
  readonly #stopping = new AbortController();
  /** Leased messages that are not confirmed yet; at most one batch. */
  readonly #inFlight = new Map<string, Promise<void>>();
  /** Results of messages that are no longer in flight and still have to be recorded; they count for the batch. */
  #confirmed: string[] = [];
  #delays: OutboxDelay[] = [];
  #brokerFailure: unknown;
  /** Messages that failed and were logged; at most one batch. */
  readonly #reported = new Set<string>();
  #running: Promise<void> | undefined;
  #woken = false;
  #endWait: (() => void) | undefined;
  #measuredAtMs = -MEASURE_MS;

  constructor(
    private readonly source: OutboxSource,
    private readonly sender: JobSender,
    contracts: readonly Contract[],
  ) {
    this.#jobs = new Map(contracts.map((contract) => [contract.name, contract]));
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Reports that a transaction with outbox rows has committed: runs at once. No effect while runs fail. */
  wake(): void {
    this.#woken = true;
    this.#endWait?.();
  }

  /** Resolves when the current run has ended and its messages are confirmed, or after 4 seconds. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endWait?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#woken = false;
      const { isMoreWaiting, failure } = await this.#pass(failures > 0 ? 1 : BATCH_SIZE);
      if (failure !== undefined) {
        failures += 1;
        this.#logger.warn(`outbox pass failed, ${failures} in a row: ${describeFailure(failure)}`);
        await pause(backoffMs(failures, BACKOFF), this.#stopping.signal);
      } else {
        const isBack = failures > 0;
        failures = 0;
        if (!isMoreWaiting && !isBack) await this.#waitForWork();
      }
    }
    await this.#end();
  }

  async #pass(limit: number): Promise<PassResult> {
    this.#brokerFailure = undefined;
    try {
      const room = Math.min(limit, BATCH_SIZE - this.#inFlight.size - this.#confirmed.length);
      const claimed = room > 0 ? await this.source.claim(room, LEASE_MS) : [];
      if (claimed.length > 0) failpoint('outbox-selected');
      for (const message of claimed) this.#begin(message);
      await settledWithin(Promise.all(this.#inFlight.values()), FLUSH_MS);
      const confirmed = await this.#writeDown();
      await this.#measure();
      return { isMoreWaiting: claimed.length === room && confirmed > 0, failure: this.#brokerFailure };
    } catch (error) {
      return { isMoreWaiting: false, failure: error };
    }
  }

  /** A message whose lease expired may be claimed again while it is still in flight here. */
  #begin(message: OutboxMessage): void {
    const { id } = message;
    if (this.#inFlight.has(id)) return;
    const sending = this.#send(message)
      .then(
        () => void this.#confirmed.push(id),
        (error: unknown) => this.#notConfirmed(message, error),
      )
      .finally(() => this.#inFlight.delete(id));
    this.#inFlight.set(id, sending);
  }

  async #send({ id, contract: name, payload }: OutboxMessage): Promise<void> {
    const contract = this.#jobs.get(name);
    if (contract?.kind !== 'job') throw brokerFailure('there is no job contract of its name');
    encodeJob(contract, payload);
    await this.sender.send(contract, payload, `outbox-${id}`);
  }

  #notConfirmed({ id, attempts }: OutboxMessage, error: unknown): void {
    if (isBrokerAway(error)) {
      this.#brokerFailure ??= error;
      this.#delays.push({ id, delayMs: 0, isAttempt: false });
      return;
    }
    this.#delays.push({ id, delayMs: backoffMs(attempts + 1, MESSAGE_BACKOFF), isAttempt: true });
    this.#reportOnce(id, error);
  }

  /** Each in a short statement; what cannot be recorded now is retried in the next run. */
  async #writeDown(): Promise<number> {
    // More may be confirmed while these are recorded.
    const confirmed = [...this.#confirmed];
    const delays = this.#delays;
    if (confirmed.length > 0) {
      failpoint('outbox-confirmed');
      await this.source.forget(confirmed);
      this.#confirmed = this.#confirmed.slice(confirmed.length);
      outboxRelayedTotal.inc(confirmed.length);
    }
    this.#delays = [];
    // Otherwise they would stay leased until their leases expire.
    if (delays.length > 0) await this.source.postpone(delays);
    return confirmed.length;
  }

  async #end(): Promise<void> {
    await settledWithin(Promise.all(this.#inFlight.values()), STOP_MS);
    try {
      await this.#writeDown();
    } catch (error) {
      this.#logger.warn(`sent outbox messages stay and are sent again: ${describeFailure(error)}`);
    }
  }

  #reportOnce(id: string, error: unknown): void {
    if (this.#reported.has(id)) return;
    if (this.#reported.size >= BATCH_SIZE) this.#reported.clear();
    this.#reported.add(id);
    this.#logger.error(`outbox message ${id} was not confirmed and is tried again: ${describeFailure(error)}`);
  }

  async #waitForWork(): Promise<void> {
    if (this.#woken || this.#stopping.signal.aborted) return;
    const wait = new AbortController();
    this.#endWait = () => wait.abort();
    await pause(INTERVAL_MS, wait.signal);
    this.#endWait = undefined;
  }

  async #measure(): Promise<void> {
    if (performance.now() - this.#measuredAtMs < MEASURE_MS) return;
    this.#measuredAtMs = performance.now();
    const { oldestSeconds, stuck } = await this.source.measure(STUCK_ATTEMPTS);
    outboxLagSeconds.set(oldestSeconds);
    outboxStuckMessages.set(stuck);
  }
}
