import { Injectable, Logger } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  allowedCandidates,
  CatalogueSource,
  forbidsRetention,
  NativeBatchCaller,
  readRoutePolicies,
  type CancelSignal,
  type NativeJob,
  type RoutePolicy,
} from '@libs/inference';
import { NativeBatchesRepository, type NativeBatch } from '@libs/persistence';
import { BatchKeys } from '../batches/batch-keys';
import { FinalizerService } from '../batches/finalizer.service';
import { ManagedLaneService } from '../batches/managed-lane.service';
import { NativeCollectionService } from './native-collection.service';
import { NativeFundsService } from './native-funds.service';
import { reach, scopeOf, type Reach } from './native-reach';
import { NativeSubmissionService } from './native-submission.service';

const FIRST_POLL_MS = 1_000;
const LAST_POLL_MS = 5 * 60_000;
/** Polling interval after a cancellation, because a job ends soon after it. */
const CANCELLED_POLL_MS = 1_000;
/** Delay before an order is sent again that was refused because of too many waiting orders. */
const TOO_MUCH_MS = 5 * 60_000;
/** Consecutive failures after which outputs are accepted although the provider counts more answers: 15 minutes. */
const MOST_SHORT_DOWNLOADS = 12;
/** Delay before the next step of an order while a part of this service is unavailable. */
const AWAY_MS = 5_000;
const FIRST_BACKOFF_MS = 2_000;
const LAST_BACKOFF_MS = 2 * 60_000;
/** Consecutive failures after which an order that was not submitted is run as single calls. */
const MOST_FAILURES = 5;
/** Consecutive failures for a running order that is late; its lines still have time to run as single calls. */
const MOST_LATE_FAILURES = 8;
/**
 * Consecutive failures for an order that is no longer wanted: a quarter of an hour. Its batch gets only the lines it
 * finished.
 */
const MOST_UNWANTED_FAILURES = 16;

/**
 * How often an order is sent that its provider neither accepts nor refuses. After each time it is searched until it is
 * certainly not there. Then it may be sent again or, in the end, its lines run as single calls.
 */
const MOST_LOSSES = 3;

/** Runs the next due step of an order, according to its row. Safe to repeat in any worker. */
@Injectable()
export class NativeRunnerService {
  private readonly logger = new Logger(NativeRunnerService.name);

  constructor(
    private readonly catalogue: CatalogueSource,
    private readonly caller: NativeBatchCaller,
    private readonly orders: NativeBatchesRepository,
    private readonly submission: NativeSubmissionService,
    private readonly collection: NativeCollectionService,
    private readonly lane: ManagedLaneService,
    private readonly finalizer: FinalizerService,
    private readonly keys: BatchKeys,
    private readonly funds: NativeFundsService,
  ) {}

  /** Never throws because of a provider: a failure is counted, and the order becomes due again later. */
  async advance(order: NativeBatch, signal: CancelSignal): Promise<void> {
    let at: Reach | null = null;
    try {
      if (isOver(order) && !mayBeUpstream(order)) return await this.finish(order, null);
      at = await reach(order, this.catalogue.current(), this.caller, signal);
      await this.step(order, at);
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (at !== null) this.caller.noteFailure(at.candidate, scopeOf(order), error);
      await this.afterFailure(order, error);
    }
  }

  private async step(order: NativeBatch, at: Reach): Promise<void> {
    if (order.state === 'submitting') await this.submission.lookFor(order, at);
    else if (order.state === 'running') await this.follow(order, at);
    else if (order.losses >= MOST_LOSSES) await this.finish(order, 'the provider did not take it');
    else {
      const principal = await this.keys.principalOf(order);
      const policies = readRoutePolicies(principal.policies ?? []);
      const refusal = await this.findRefusal(order, at, policies);
      if (refusal !== null) await this.withdraw(order, at, refusal);
      else await this.submitCovered(order, at, principal, policies);
    }
  }

  /**
   * Returns why a policy keeps the order from its provider, as it is now; null if none does. Lines that are not sent yet
   * are refused one by one later; a file that the provider has cannot be changed.
   */
  private async findRefusal(order: NativeBatch, at: Reach, policies: readonly RoutePolicy[]): Promise<string | null> {
    if (policies.some(forbidsRetention)) return 'a policy demands that its provider keeps nothing';
    try {
      checkPlaces(at, policies);
      if (order.inputFileId !== null) await this.submission.checkLines(order, at, policies);
      return null;
    } catch (thrown) {
      const { code, message } = AppError.from(thrown);
      if (code !== 'permission_denied') throw thrown;
      return message;
    }
  }

  /** Removes what was uploaded, and leaves the order to single calls. */
  private async withdraw(order: NativeBatch, { lane, access }: Reach, refusal: string): Promise<void> {
    const { inputFileId, reference, provider } = order;
    if (inputFileId !== null) {
      const removed = await lane.batches.remove({ id: null, inputFileId, outputs: [] }, access);
      if (removed !== 'deleted') this.logger.warn(`the file of order ${reference} stays at ${provider}: ${removed}`);
    }
    await this.finish(order, refusal);
  }

  private async submitCovered(
    order: NativeBatch,
    at: Reach,
    principal: Principal,
    policies: readonly RoutePolicy[],
  ): Promise<void> {
    const cover = await this.funds.cover(order, principal);
    if (cover === 'waits') return;
    // Our own lane ends its lines one by one, each with the refusal.
    if (cover === 'unpaid') return this.finish(order, 'there is no credit for it');
    if (!(await this.submission.submit(order, at, policies))) return this.finish(order, null);
    this.lane.wake();
    await this.finalizer.finishIfDone(order.batchNumber);
  }

  private async follow(order: NativeBatch, at: Reach): Promise<void> {
    if (isOver(order) && !order.isCancelled) return this.callOff(order, at);
    const job = await at.lane.batches.poll(order.upstreamId!, at.access);
    this.caller.noteAnswer(at.candidate, scopeOf(order));
    if (job === null) return this.finish(order, 'the provider no longer knows the job');
    if (job.state === 'ended') return this.collect(order, job, at);
    if (order.isStuck) return this.finish(order, 'the provider did not end it when it was called off');
    await this.orders.rest(order, order.isCancelled ? CANCELLED_POLL_MS : pollDelayMs(order.ageMs));
  }

  private async callOff(order: NativeBatch, { lane, access }: Reach): Promise<void> {
    await lane.batches.cancel(order.upstreamId!, access);
    await this.orders.cancelled(order, CANCELLED_POLL_MS);
    this.logger.log(`order ${order.reference} was called off at ${order.provider}`);
  }

  private async collect(order: NativeBatch, job: NativeJob, at: Reach): Promise<void> {
    if (job.isTooMuchNow && !isOver(order) && (await this.orders.postpone(order, TOO_MUCH_MS))) {
      this.logger.log(`order ${order.reference} waits for others at ${order.provider}`);
      return;
    }
    const { own, foreign, answers } = await this.collection.collect(order, job, at);
    if (order.isAdopted && own === 0 && foreign > 0) {
      await this.orders.disown(order, job.id);
      return;
    }
    const missing = (job.answers ?? 0) - answers;
    if (missing <= 0) return this.finish(order, job.failure);
    const problem = `its outputs lack ${missing} of ${job.answers} answers`;
    if (order.failures >= MOST_SHORT_DOWNLOADS) return this.finish(order, problem);
    // Missing lines were answered and paid for: they are not called again before the outputs were read again.
    throw new AppError('provider_unavailable', 'The provider is not available', { internal: problem });
  }

  /** Ends the order. Its remaining lines are run as single calls while its batch continues. */
  private async finish(order: NativeBatch, problem: string | null): Promise<void> {
    if (!(await this.orders.finish(order, problem))) return;
    if (problem !== null) this.logger.warn(`order ${order.reference} at ${order.provider} ended: ${problem}`);
    await this.funds.release(order);
    this.lane.wake();
    await this.finalizer.finishIfDone(order.batchNumber);
  }

  private async afterFailure(order: NativeBatch, error: AppError): Promise<void> {
    const problem = error.internal ?? error.message;
    if (error.code === 'unavailable' && !isOver(order)) {
      // RabbitMQ, PostgreSQL or one of our apps is unavailable, which is no reason to give up the provider's lower
      // prices.
      this.logger.warn(`order ${order.reference} at ${order.provider} waits: ${problem}`);
      await this.orders.wait(order, AWAY_MS);
      return;
    }
    const failures = order.failures + 1;
    if (isHopeless(order, error, failures)) {
      // The row after the step decides: an order that may be at the provider by now is not given up.
      const isAway = mayBeUpstream(order) || (await this.orders.abandon(order, problem));
      if (isAway) return this.finish(order, problem);
    }
    const { retryAfterSeconds } = error;
    const delayMs = retryAfterSeconds === undefined ? backoffMs(failures) : retryAfterSeconds * 1_000;
    await this.orders.rest(order, Math.min(delayMs, LAST_BACKOFF_MS), problem);
    this.logger.warn(`order ${order.reference} at ${order.provider} waits: ${problem}`);
  }
}

/**
 * Checks the order like a single line before its call.
 * @throws AppError permission_denied by a policy
 */
function checkPlaces({ candidate, access }: Reach, policies: readonly RoutePolicy[]): void {
  // A key of the caller's own may move the candidate to another host; both places must be allowed.
  for (const place of [candidate, { ...candidate, endpoint: access.endpoint }]) {
    allowedCandidates([place], policies, candidate.model.slug);
  }
}

/** Whether to leave an order's lines to the other lane. */
function isHopeless(order: NativeBatch, error: AppError, failures: number): boolean {
  const mostOver = order.isWanted ? MOST_LATE_FAILURES : MOST_UNWANTED_FAILURES;
  if (mayBeUpstream(order)) return order.isStuck || (isOver(order) && failures >= mostOver);
  const isFinal = !error.retryable && error.code !== 'request_timeout';
  return isFinal || failures >= MOST_FAILURES;
}

/** Returns whether the batch no longer waits for the provider. */
function isOver({ isWanted, isLate }: NativeBatch): boolean {
  return !isWanted || isLate;
}

function mayBeUpstream({ state }: NativeBatch): boolean {
  return state === 'submitting' || state === 'running';
}

/**
 * Returns a tenth of the order's age, ± 20 %, so that a short job is noticed quickly and a long one is not polled
 * often.
 */
function pollDelayMs(ageMs: number): number {
  const plainMs = Math.min(LAST_POLL_MS, Math.max(FIRST_POLL_MS, ageMs / 10));
  return Math.round(plainMs * (0.8 + Math.random() * 0.4));
}

function backoffMs(failures: number): number {
  const ceilingMs = Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
  return Math.ceil(ceilingMs * (0.5 + Math.random() * 0.5));
}
