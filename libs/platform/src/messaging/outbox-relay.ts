import { Logger } from '@nestjs/common';
import type { Contract } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import { describeFailure, brokerFailure } from './broker-failure';
import type { JobSender } from './job-sender';
import { encodeJob } from './message-codec';
import { outboxLagSeconds, outboxRelayedTotal } from './messaging-metrics';
import type { OutboxMessage, OutboxSource } from './outbox-source';
import { backoffMs, pause } from './pause';

interface PassResult {
  readonly pending: number;
  readonly confirmed: number;
  /** The broker or the database failed us: the next pass must wait. */
  readonly failure: unknown;
}

const BATCH_SIZE = 500;
const INTERVAL_MS = 1_000;
const BACKOFF = { firstMs: 1_000, longestMs: 5_000 };

/**
 * Sends what the outbox holds. A message leaves the outbox only after the broker's confirm, so a crash at
 * any point can send it twice and never lose it. Runs when woken and every second.
 *
 * A message that can never be sent (no such contract, too large) is logged and stays for a person to look
 * at. It does not slow the others, while there are fewer such messages than fit a batch.
 */
export class OutboxRelay {
  readonly #logger = new Logger(OutboxRelay.name);
  readonly #jobs: ReadonlyMap<string, Contract>;
  readonly #stopping = new AbortController();
  /** Messages that cannot be sent and were logged; at most a batch of them. */
  readonly #reported = new Set<string>();
  #running: Promise<void> | undefined;
  #woken = false;
  #endWait: (() => void) | undefined;
  #behindSince: number | undefined;

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

  /** A transaction with outbox rows has committed: look at once. While passes fail this changes nothing. */
  wake(): void {
    this.#woken = true;
    this.#endWait?.();
  }

  /** Resolves when the pass in progress has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endWait?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#woken = false;
      const { pending, confirmed, failure } = await this.#pass();
      this.#measure(confirmed, pending > confirmed || failure !== undefined);
      if (failure !== undefined) {
        failures += 1;
        this.#logger.warn(`outbox pass failed, ${failures} in a row: ${describeFailure(failure)}`);
        await pause(backoffMs(failures, BACKOFF), this.#stopping.signal);
      } else {
        failures = 0;
        const moreIsWaiting = pending === BATCH_SIZE && confirmed > 0;
        if (!moreIsWaiting) await this.#waitForWork();
      }
    }
  }

  async #pass(): Promise<PassResult> {
    let confirmed: ReadonlySet<string> = new Set();
    let failure: unknown;
    try {
      const pending = await this.source.relayPending(BATCH_SIZE, async (messages) => {
        ({ confirmed, failure } = await this.#publish(messages));
        return confirmed;
      });
      return { pending, confirmed: confirmed.size, failure };
    } catch (error) {
      return { pending: 0, confirmed: 0, failure: error };
    }
  }

  async #publish(messages: readonly OutboxMessage[]): Promise<{ confirmed: ReadonlySet<string>; failure: unknown }> {
    failpoint('outbox-selected');
    const sendable = messages.filter((message) => this.#isSendable(message));
    const results = await Promise.allSettled(sendable.map((message) => this.#send(message)));
    const confirmed = new Set(
      sendable.filter((_, index) => results[index]?.status === 'fulfilled').map(({ id }) => id),
    );
    failpoint('outbox-confirmed');
    const rejected = results.find((result) => result.status === 'rejected');
    return { confirmed, failure: rejected?.reason };
  }

  #isSendable(message: OutboxMessage): boolean {
    try {
      const contract = this.#jobs.get(message.contract);
      if (contract?.kind !== 'job') throw brokerFailure('there is no job contract of its name');
      encodeJob(contract, message.payload);
      return true;
    } catch (error) {
      this.#reportOnce(message.id, error);
      return false;
    }
  }

  #reportOnce(id: string, error: unknown): void {
    if (this.#reported.has(id)) return;
    if (this.#reported.size >= BATCH_SIZE) this.#reported.clear();
    this.#reported.add(id);
    this.#logger.error(`outbox message ${id} cannot be sent: ${describeFailure(error)}`);
  }

  async #send({ id, contract: name, payload }: OutboxMessage): Promise<void> {
    const contract = this.#jobs.get(name);
    if (contract?.kind === 'job') await this.sender.send(contract, payload, `outbox-${id}`);
  }

  async #waitForWork(): Promise<void> {
    if (this.#woken || this.#stopping.signal.aborted) return;
    const wait = new AbortController();
    this.#endWait = () => wait.abort();
    await pause(INTERVAL_MS, wait.signal);
    this.#endWait = undefined;
  }

  #measure(confirmed: number, isBehind: boolean): void {
    outboxRelayedTotal.inc(confirmed);
    const now = performance.now();
    this.#behindSince = isBehind ? (this.#behindSince ?? now) : undefined;
    outboxLagSeconds.set(this.#behindSince === undefined ? 0 : (now - this.#behindSince) / 1_000);
  }
}
