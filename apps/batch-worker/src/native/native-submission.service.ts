import { Injectable, Logger } from '@nestjs/common';
import { AppError, type ErrorCode } from '@libs/errors';
import {
  allowedCandidates,
  ruledToolsIn,
  rulesTools,
  upstreamStatusOf,
  type Candidate,
  type NativeJob,
  type RoutePolicy,
} from '@libs/inference';
import { ProviderPlaces } from '@libs/platform';
import {
  BatchResultsRepository,
  NativeBatchesRepository,
  NativeSegmentsRepository,
  type LineOutcome,
  type NativeBatch,
} from '@libs/persistence';
import { refused } from '../batches/line-outcome';
import { storeAllOutcomes } from '../batches/store-outcomes';
import { customIdOf, type Reach } from './native-reach';

/**
 * Codes and statuses of a refusal: the provider certainly does not have the order. After any other failure that is
 * unknown.
 */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'payload_too_large',
  'unprocessable',
  'rate_limit_exceeded',
  'content_policy_violation',
  'context_length_exceeded',
]);
const OPEN_STATUSES: ReadonlySet<number> = new Set([408, 409]);
/** Fewest searches at the provider without success, over a minimum time, before an order is submitted again. */
const LEAST_LOOKS = 4;
const SETTLED_MS = 150_000;
const LOOK_DELAYS_MS = [3_000, 10_000, 30_000, 60_000];

/**
 * Submits an order to its provider exactly once.
 *
 * The row is `submitting` before the order is sent and gets the provider's id as soon as there is a response. A worker
 * that finds the row in between cannot know whether the provider accepted the order. It searches the provider by our
 * reference until it finds the order, or until it has failed so often and for so long that no request can still be
 * running. Only then is the order sent again.
 */
@Injectable()
export class NativeSubmissionService {
  private readonly logger = new Logger(NativeSubmissionService.name);
  private readonly places = new ProviderPlaces(MOST_SENT_AT_ONCE, WEIGHTS);

  constructor(
    private readonly orders: NativeBatchesRepository,
    private readonly segments: NativeSegmentsRepository,
    private readonly results: BatchResultsRepository,
  ) {}

  /**
   * Sends the order and stores the provider's id; delays it if other orders of this process are first. Returns false if
   * none of its lines is left to send.
   */
  async submit(order: NativeBatch, reach: Reach, policies: readonly RoutePolicy[]): Promise<boolean> {
    if (!this.places.take(order)) {
      await this.orders.wait(order, TURN_MS);
      return true;
    }
    try {
      return await this.send(order, reach, policies);
    } finally {
      this.places.give(order);
    }
  }

  /**
   * Checks the lines of an order whose file the provider has, as `submit` does before it sends one.
   * @throws AppError permission_denied by a policy, of the first line that may not be sent
   */
  async checkLines(order: NativeBatch, { candidate }: Reach, policies: readonly RoutePolicy[]): Promise<void> {
    if (!policies.some(rulesTools)) return;
    for (const segment of await this.segments.held(order)) {
      for (const { body } of await this.segments.unfinishedLines(order, segment)) checkLine(body, candidate, policies);
    }
  }

  /** Searches the provider for an order that it may or may not have accepted. */
  async lookFor(order: NativeBatch, { lane, access }: Reach): Promise<void> {
    const lost = {
      reference: order.reference,
      total: order.sentLines ?? 0,
      sinceMs: order.submittedAt?.getTime() ?? 0,
    };
    const jobs = await lane.batches.find(lost, access);
    const possible = jobs.filter(({ id }) => !order.notOurs.includes(id));
    if (await this.adopt(order, possible)) return;
    const isOpen = possible.length > 0 && (await this.hasUnknown(order, possible));
    const isLongAgo = order.looks + 1 >= LEAST_LOOKS && order.ageMs >= SETTLED_MS;
    if (!isOpen && isLongAgo) {
      await this.orders.notArrived(order);
      this.logger.warn(`order ${order.reference} did not arrive at ${order.provider}`);
    } else {
      await this.orders.looked(order, LOOK_DELAYS_MS[order.looks] ?? LOOK_DELAYS_MS.at(-1)!);
    }
  }

  private async adopt(order: NativeBatch, jobs: readonly NativeJob[]): Promise<boolean> {
    const exact = jobs.filter(({ reference }) => reference === order.reference);
    const taken = await this.orders.takenFor(
      order,
      jobs.map(({ id }) => id),
    );
    for (const job of exact.length > 0 ? exact : jobs.filter(({ id }) => !taken.has(id))) {
      if (!(await this.orders.running(order, job.id, exact.length === 0))) continue;
      this.logger.log(`order ${order.reference} was found at ${order.provider}`);
      await this.orders.rest(order, 0);
      return true;
    }
    return false;
  }

  /** Returns whether one of the jobs is not known to belong to another order. */
  private async hasUnknown(order: NativeBatch, jobs: readonly NativeJob[]): Promise<boolean> {
    const ids = jobs.map(({ id }) => id);
    const taken = await this.orders.takenFor(order, ids);
    return ids.some((id) => !taken.has(id));
  }

  private async send(order: NativeBatch, reach: Reach, policies: readonly RoutePolicy[]): Promise<boolean> {
    const { batches } = reach.lane;
    const isInline = batches.upload === undefined;
    const prepared = order.state === 'planned' || isInline ? await this.prepare(order, reach, policies) : null;
    if (prepared !== null && prepared.length === 0) return false;
    const uploaded = order.state === 'planned' ? await this.upload(order, reach, prepared ?? []) : order;
    if (uploaded !== null) await this.create(uploaded, reach, isInline ? prepared : null);
    return true;
  }

  /**
   * Returns whether an uploaded file is processed. If not, it is checked again later, because an order from it would be
   * refused.
   */
  private async isReady(order: NativeBatch, { lane, access }: Reach): Promise<boolean> {
    const { inputFileId } = order;
    const isReady = inputFileId === null || ((await lane.batches.isReady?.(inputFileId, access)) ?? true);
    if (!isReady) await this.orders.rest(order, FILE_LOOK_MS);
    return isReady;
  }

  /** Returns the lines in the provider's form. Lines that cannot or may not be sent get their outcome at once. */
  private async prepare(
    order: NativeBatch,
    { lane, candidate }: Reach,
    policies: readonly RoutePolicy[],
  ): Promise<readonly Buffer[]> {
    const lines: Buffer[] = [];
    for (const segment of await this.segments.held(order)) {
      const failed: LineOutcome[] = [];
      for (const line of await this.segments.unfinishedLines(order, segment)) {
        try {
          checkLine(line.body, candidate, policies);
          lines.push(lane.write(customIdOf(order, line.seq), line.body));
        } catch (thrown) {
          const place = { lease: segment, batchId: order.batchId, seq: line.seq, customId: line.customId };
          failed.push(refused(place, AppError.from(thrown)));
        }
      }
      await storeAllOutcomes(this.results, failed, this.logger);
    }
    return lines;
  }

  private async upload(
    order: NativeBatch,
    { lane, sending, candidate }: Reach,
    lines: readonly Buffer[],
  ): Promise<NativeBatch | null> {
    const credentialId = candidate.credential?.id ?? null;
    if (!(await this.orders.pin(order, credentialId, lane.batches.upload !== undefined))) return null;
    const { reference } = order;
    const file = lane.batches.upload?.({ reference, lines }, sending);
    const inputFileId = file === undefined ? null : await this.orNotUploaded(order, file);
    const isOurs = await this.orders.uploaded(order, inputFileId, lines.length);
    return isOurs ? { ...order, state: 'uploaded', credentialId, inputFileId, sentLines: lines.length } : null;
  }

  /** @param lines those that are sent with the order; null if they are in its file */
  private async create(order: NativeBatch, reach: Reach, lines: readonly Buffer[] | null): Promise<void> {
    const { lane, access, sending } = reach;
    if (!(await this.isReady(order, reach))) return;
    if (!(await this.orders.submitting(order, lines?.length ?? null))) {
      await this.orders.rest(order, 0);
      return;
    }
    const { reference, inputFileId } = order;
    const job = await this.orRefused(
      order,
      lane.batches.create(
        { reference, api: lane.upstreamApi, inputFileId, lines: lines ?? [] },
        inputFileId === null ? sending : access,
      ),
    );
    if (!(await this.orders.running(order, job.id, false))) return this.keepOrCallOff(order, reach, job.id);
    await this.orders.rest(order, FIRST_POLL_MS);
    this.logger.log(`order ${reference} of batch ${order.batchId} runs at ${order.provider}`);
  }

  /** The lease was lost while the provider answered. The worker may no longer write, but it still knows the answer. */
  private async keepOrCallOff(order: NativeBatch, { lane, access }: Reach, jobId: string): Promise<void> {
    if (await this.orders.runningAfterAll(order, jobId)) {
      this.logger.log(`order ${order.reference} runs at ${order.provider}, as was learnt late`);
      return;
    }
    this.logger.warn(`job ${jobId} at ${order.provider} came too late for order ${order.reference}: it is called off`);
    await lane.batches.cancel(jobId, access);
  }

  private async orNotUploaded(order: NativeBatch, uploaded: Promise<string>): Promise<string> {
    try {
      return await uploaded;
    } catch (thrown) {
      if (isRefusal(AppError.from(thrown))) await this.orders.notUploaded(order);
      throw thrown;
    }
  }

  private async orRefused(order: NativeBatch, created: Promise<NativeJob>): Promise<NativeJob> {
    try {
      return await created;
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (isRefusal(error)) await this.orders.notSubmitted(order);
      throw error;
    }
  }
}

const FIRST_POLL_MS = 1_000;
/**
 * Most orders that are sent at once, because their lines are in memory. By the weights, one provider gets up to 2, and
 * one organization at it 1, so that a provider that accepts no lines does not delay other orders.
 */
const MOST_SENT_AT_ONCE = 4;
const WEIGHTS = { account: 0.5, provider: 1 };
const TURN_MS = 1_000;
/** Providers process small files within seconds, large ones within minutes. */
const FILE_LOOK_MS = 5_000;

/** @throws AppError permission_denied by a policy */
function checkLine(body: Buffer, candidate: Candidate, policies: readonly RoutePolicy[]): void {
  allowedCandidates([candidate], policies, candidate.model.slug, ruledToolsIn(body, policies));
}

/** Includes refusals of the key, and of a provider without this model or route, which callers see as an outage. */
function isRefusal(error: AppError): boolean {
  const status = upstreamStatusOf(error) ?? 0;
  return REFUSALS.has(error.code) || (status >= 400 && status < 500 && !OPEN_STATUSES.has(status));
}
