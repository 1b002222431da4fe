import { Logger } from '@nestjs/common';
import type { CallContract, Contract, FeedName } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateInstance } from '../validation/validate';
import { describeFailure, messageFailure } from './broker-failure';
import type { Delivery } from './delivery';
import { decodePacket, type Reply } from './message-codec';
import { answerSeconds } from './messaging-metrics';
import type { ReplySender } from './reply-sender';

/** Runs the handler of a contract on a validated message. */
export type Invoke = (contract: Contract, message: object) => Promise<unknown>;

/** Publishes what a call has changed. Never rejects. */
export type Announce = (feed: FeedName) => Promise<void>;

interface Question {
  readonly contract: CallContract<object, object>;
  readonly data: unknown;
}

const UNKNOWN = { name: 'unknown', timeoutMs: 1_000 };

/** Answers the calls of one queue: every question is handled, acknowledged and then answered. */
export class CallReceiver {
  readonly #logger = new Logger(CallReceiver.name);

  constructor(
    private readonly contracts: ReadonlyMap<string, Contract>,
    private readonly invoke: Invoke,
    private readonly replies: Pick<ReplySender, 'send'>,
    private readonly announce: Announce = () => Promise.resolve(),
  ) {}

  async receive(delivery: Delivery): Promise<void> {
    const stopTimer = answerSeconds.startTimer();
    const question = this.#read(delivery);
    const { name, timeoutMs } = question instanceof AppError ? UNKNOWN : question.contract;
    const reply = question instanceof AppError ? { err: question.toWire() } : await this.#answer(question);
    // Before the answer is sent, which may have to wait: a question that was handled must not come again.
    delivery.ack();
    await this.#send(delivery, reply, name, timeoutMs);
    stopTimer({ contract: name, outcome: 'err' in reply ? reply.err.code : 'ok' });
  }

  #read(delivery: Delivery): Question | AppError {
    try {
      const { pattern, data } = decodePacket(delivery.message.content);
      const contract = this.contracts.get(pattern);
      if (contract?.kind === 'call') return { contract, data };
      throw messageFailure('a call of a contract that is not known here');
    } catch (thrown) {
      const error = AppError.from(thrown);
      this.#logger.error(`a message of queue ${delivery.message.fields.routingKey}: ${describeFailure(error)}`);
      return error;
    }
  }

  async #answer({ contract, data }: Question): Promise<Reply> {
    try {
      const request = validateInstance(contract.request, data);
      return { response: (await this.invoke(contract, request)) ?? null };
    } catch (thrown) {
      const error = AppError.from(thrown);
      // What crosses to the caller holds neither the inner text nor the cause: they are told here or never.
      if (error.status >= 500) {
        const { stack } = thrown instanceof Error ? thrown : error;
        this.#logger.error(`${contract.name} failed: ${describeFailure(error)}`, stack);
      }
      return { err: error.toWire() };
    } finally {
      // Also after an error: a replayed code is refused, and revokes its key.
      if (contract.changes !== undefined) await this.announce(contract.changes);
    }
  }

  async #send(delivery: Delivery, reply: Reply, contractName: string, waitMs: number): Promise<void> {
    const { replyTo, correlationId } = delivery.message.properties as { replyTo?: string; correlationId?: string };
    if (!replyTo || !correlationId) {
      this.#logger.warn(`a call of ${contractName} came without an address to answer to`);
      return;
    }
    const address = { replyTo, correlationId, contractName, waitMs };
    try {
      await this.replies.send(reply, address);
    } catch (thrown) {
      const error = AppError.from(thrown);
      this.#logger.error(`${contractName}: ${describeFailure(error)}`);
      await this.replies.send({ err: error.toWire() }, address);
    }
  }
}
