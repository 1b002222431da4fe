import { Logger } from '@nestjs/common';
import type { ConsumeMessage, MessageProperties } from 'amqplib';
import type { CallContract, Contract, FeedName, PartyName } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateInstance } from '../validation/validate';
import type { BrokerIdentity } from './broker-identity';
import { describeFailure, messageFailure } from './broker-failure';
import type { Delivery } from './delivery';
import { decodePacket, type Reply } from './message-codec';
import { answerSeconds } from './messaging-metrics';
import { refuseMessage } from './refused-messages';
import type { ReplySender } from './reply-sender';
import { clockOf, READ_CLOCK } from './owner-clock';
import { problemOfTime } from './question-times';
import { readQuestion, type Refusal, type SignedQuestion } from './signatures';
import type { UsedQuestions } from './used-questions';

/** Runs the handler of a contract on a validated message; a job has no asker. */
export type Invoke = (contract: Contract, message: object, asker?: PartyName) => Promise<unknown>;

/** Publishes what a call has changed. Never rejects. */
export type Announce = (feed: FeedName) => Promise<void>;

/** The dependencies of an app that answers calls. */
export interface AnsweringOptions {
  readonly identity: BrokerIdentity;
  readonly usedQuestions: UsedQuestions;
  /** Called after each call that changes a feed, before it is answered. */
  readonly announce?: Announce | undefined;
}

type Replies = Pick<ReplySender, 'send'>;
type AnyCall = CallContract<object, object>;

const UNKNOWN = { name: 'unknown', timeoutMs: 1_000 };

/**
 * Answers the calls of one queue: every question is handled, acknowledged and then answered. One that its asker has not
 * signed is dropped unread and unanswered, because its asker is not known.
 */
export class CallReceiver {
  readonly #logger = new Logger(CallReceiver.name);
  /** Apps that may call this one; the broker lets this app answer no others. */
  readonly #askers: ReadonlySet<PartyName>;
  readonly #clock: AnyCall | undefined;

  constructor(
    private readonly contracts: ReadonlyMap<string, Contract>,
    private readonly invoke: Invoke,
    private readonly replies: Replies,
    private readonly options: AnsweringOptions,
  ) {
    const calls = [...contracts.values()].filter((contract): contract is AnyCall => contract.kind === 'call');
    this.#askers = new Set(calls.flatMap(({ askedBy }) => askedBy));
    const [any] = calls;
    this.#clock = any && clockOf(any.queue, Math.max(...calls.map(({ timeoutMs }) => timeoutMs)));
  }

  async receive(delivery: Delivery): Promise<void> {
    const stopTimer = answerSeconds.startTimer();
    const { properties, content } = delivery.message;
    const question = this.#read(properties, content);
    if (typeof question === 'string') {
      delivery.ack();
      refuseMessage('question', question, `in queue ${delivery.message.fields.routingKey}`);
      return;
    }
    const contract = this.#contractOf(question);
    const reply =
      contract instanceof AppError
        ? { err: contract.toWire() }
        : await this.#answer(contract, question, delivery.message);
    // Acknowledged before the answer is sent, which may have to wait: a handled request must not be delivered again.
    delivery.ack();
    if (reply === null) return;
    const { name, timeoutMs } = contract instanceof AppError ? UNKNOWN : contract;
    await this.#send(question, reply, timeoutMs);
    stopTimer({ contract: name, outcome: 'err' in reply ? reply.err.code : 'ok' });
  }

  #read(properties: MessageProperties, content: Buffer): SignedQuestion | Refusal {
    const question = readQuestion(this.options.identity, properties, content);
    return typeof question === 'string' || this.#askers.has(question.asker) ? question : 'stranger';
  }

  #contractOf({ contractName, asker }: SignedQuestion): AnyCall | AppError {
    if (contractName === READ_CLOCK && this.#clock !== undefined) return this.#clock;
    const contract = this.contracts.get(contractName);
    let error: AppError;
    if (contract?.kind !== 'call') {
      error = messageFailure('a call of a contract that is not known here');
    } else if (!contract.askedBy.includes(asker)) {
      error = new AppError('permission_denied', `${asker} may not ask ${contractName}`);
    } else return contract;
    this.#logger.error(`a call of ${asker}: ${describeFailure(error)}`);
    return error;
  }

  /** Handles a request and returns its reply; null for a request that must not be answered. */
  async #answer(contract: AnyCall, question: SignedQuestion, message: ConsumeMessage): Promise<Reply | null> {
    const { content, fields } = message;
    try {
      const { pattern, data } = decodePacket(content);
      if (pattern !== contract.name) throw messageFailure('a message of another contract than its type says');
      const request = validateInstance(contract.request, data);
      if (!(await this.#mayHandle(contract, question))) return null;
      return await this.#handle(contract, request, question);
    } catch (thrown) {
      const { whenGone } = contract;
      const isGone = fields.redelivered && thrown instanceof AppError && thrown.code === 'not_found';
      return isGone && whenGone !== undefined ? { response: whenGone } : this.#failure(contract, thrown);
    }
  }

  /**
   * A change that is only ready after the caller has given up is rolled back, because the caller may have made another
   * one since.
   */
  async #handle(contract: AnyCall, request: object, question: SignedQuestion): Promise<Reply> {
    const handler = (): Promise<unknown> => this.invoke(contract, request, question.asker);
    const { usedQuestions } = this.options;
    if (contract === this.#clock) return { response: { nowMs: await usedQuestions.nowMs() } };
    try {
      const response = await (contract.repeat === 'harmless' ? handler() : usedQuestions.handle(question, handler));
      return { response: response ?? null };
    } finally {
      // Also after an error: for example, a replayed code is refused and revokes its key.
      if (contract.changes !== undefined) await this.options.announce?.(contract.changes);
    }
  }

  /**
   * Whether the question is handled in time and for the first time. Many processes may have got a copy each, so the
   * memory of changes is theirs in common, and so is the clock by which one comes too late.
   */
  async #mayHandle(contract: AnyCall, question: SignedQuestion): Promise<boolean> {
    const about = `${contract.name} of ${question.asker}`;
    const problem = problemOfTime(contract, question, Date.now());
    if (problem !== null) {
      refuseMessage('question', 'expired', `${about}: ${problem}`);
      return false;
    }
    if (contract.repeat === 'harmless') return true;
    const claim = await this.options.usedQuestions.claim(question);
    if (claim === 'first') return true;
    refuseMessage('question', claim === 'late' ? 'expired' : 'repeated', about);
    return false;
  }

  #failure(contract: AnyCall, thrown: unknown): Reply {
    const error = AppError.from(thrown);
    // The answer contains neither the internal text nor the cause, so they are logged here.
    if (error.status >= 500) {
      const { stack } = thrown instanceof Error ? thrown : error;
      this.#logger.error(`${contract.name} failed: ${describeFailure(error)}`, stack);
    }
    return { err: error.toWire() };
  }

  async #send({ asker, replyTo, id, contractName }: SignedQuestion, reply: Reply, waitMs: number): Promise<void> {
    const address = { asker, replyTo, correlationId: id, contractName, waitMs };
    try {
      await this.replies.send(reply, address);
    } catch (thrown) {
      const error = AppError.from(thrown);
      this.#logger.error(`${contractName}: ${describeFailure(error)}`);
      await this.replies.send({ err: error.toWire() }, address);
    }
  }
}
