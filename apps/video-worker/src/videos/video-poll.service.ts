import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  byokCost,
  formatUsd,
  isPricedByToken,
  parsePercent,
  parseUsd,
  priceVideoTokens,
  type CancelSignal,
  type VideoStatus,
} from '@libs/inference';
import { type KeptVideo, type VideoEnd, type VideoJob, type VideoWait } from '@libs/persistence';
import { VideoWorkerEnv } from '../video-worker.env';
import { FinishedVideos } from './finished-videos';
import { NotFetched, type Prospect } from './output-format';
import { OutputKeeper } from './output-keeper';
import { VideoCloserService } from './video-closer.service';
import { VideoEndpoints, type VideoRoute } from './video-endpoints';
import { DOWNLOAD_TIMEOUTS, fetchDelayMs, POLL_TIMEOUTS, pollDelayMs } from './video-timing';

/** How often a provider may report that a finished video no longer exists before the job ends: about a minute. */
const MOST_GONE = 7;
/** Longest duration of a commit; a commit that failed can be retried at no cost. */
const SLOWEST_COMMIT_MS = 30_000;
/** Longest wait that a provider may ask for. */
const LONGEST_WAIT_MS = 3_600_000;
/** A provider's bill above this many times the quote is not trusted. */
const MOST_TIMES_QUOTED = 4n;

const GONE = 'The provider no longer has the finished video';
const NOT_FETCHED = 'The finished video could not be fetched from the provider';
const NOT_STORED = 'The finished video could not be stored by this service';

type Completed = Extract<VideoStatus, { state: 'completed' }>;

/** Polls jobs where they were submitted, and downloads finished videos. */
@Injectable()
export class VideoPollService {
  private readonly logger = new Logger(VideoPollService.name);
  private readonly finished = new FinishedVideos();

  constructor(
    private readonly endpoints: VideoEndpoints,
    private readonly keeper: OutputKeeper,
    private readonly closer: VideoCloserService,
    private readonly env: VideoWorkerEnv,
  ) {}

  /** Returns what to wait for next, or null if the job ended. */
  async run(job: VideoJob, signal: CancelSignal): Promise<VideoWait | null> {
    let route: VideoRoute | null = null;
    let status: VideoStatus;
    try {
      route = await this.endpoints.routeOf(job);
      status = await route.api.status(job.operation!, route.accessFor(signal, POLL_TIMEOUTS));
      route.noteAnswer();
    } catch (thrown) {
      const error = AppError.from(thrown);
      route?.noteFailure(error);
      return this.unanswered(job, error, signal);
    }
    switch (status.state) {
      case 'pending':
      case 'in_progress':
        return this.goOn(job, status.state);
      case 'completed':
        return this.complete(job, route, status, signal);
      default:
        await this.closer.finish(job, { status: status.state, errorMessage: status.message });
        return null;
    }
  }

  private async goOn(job: VideoJob, status: 'pending' | 'in_progress'): Promise<VideoWait | null> {
    if (!job.isOverdue) return { job, status, delayMs: pollDelayMs(job.attempts) };
    await this.closer.expire(job);
    return null;
  }

  private async unanswered(job: VideoJob, error: AppError, signal: CancelSignal): Promise<VideoWait | null> {
    if (signal.aborted) return { job, status: 'pending', delayMs: 0 };
    this.logger.warn(`video ${job.id}: ${job.provider} does not say how it stands: ${error.internal ?? error.code}`);
    if (error.code === 'permission_denied') {
      await this.closer.fail(job, error.message);
      return null;
    }
    const delayMs = Math.min(
      LONGEST_WAIT_MS,
      Math.max(pollDelayMs(job.attempts), (error.retryAfterSeconds ?? 0) * 1_000),
    );
    const wait = await this.goOn(job, 'pending');
    return wait && { ...wait, delayMs };
  }

  /**
   * Tries once to download, store and record a finished video; does not download again what is stored. Before the job's
   * deadline our own failures never end it, and the provider's only if it reports that there is no video.
   */
  private async complete(
    job: VideoJob,
    route: VideoRoute,
    status: Completed,
    signal: CancelSignal,
  ): Promise<VideoWait | null> {
    try {
      const outputs = this.finished.outputsOf(job.id) ?? (await this.bringHome(job, route, status, signal));
      const keepMs = this.env.VIDEO_RETENTION_HOURS * 3_600_000;
      const costs = this.costsOf(job, route.endpoint.pricing, status);
      await this.closer.finish(job, { status: 'completed', outputs, keepMs, ...costs });
      this.finished.forget(job.id);
      return null;
    } catch (thrown) {
      if (signal.aborted) return { job, status: 'in_progress', delayMs: 0 };
      return this.notHome(job, thrown);
    }
  }

  private async bringHome(
    job: VideoJob,
    { api, accessFor }: VideoRoute,
    { outputs }: Completed,
    signal: CancelSignal,
  ): Promise<readonly KeptVideo[]> {
    const kept = await this.keeper.keep(job.id, outputs, api, accessFor(signal, DOWNLOAD_TIMEOUTS));
    failpoint('video-fetched');
    this.finished.stored(job.id, kept);
    return kept;
  }

  private async notHome(job: VideoJob, thrown: unknown): Promise<VideoWait | null> {
    const { prospect, cause } = thrown instanceof NotFetched ? thrown : { prospect: null, cause: thrown };
    const error = AppError.from(cause);
    this.logger.warn(`the output of video ${job.id} cannot be kept: ${error.internal ?? error.message}`);
    const isGone = prospect === 'gone' && job.outputAttempts + 1 >= MOST_GONE;
    if (prospect === 'never' || isGone || job.isOverdue) {
      await this.closer.fail(job, isGone ? GONE : wordsOf(prospect));
      this.finished.forget(job.id);
      return null;
    }
    const delayMs = this.delayOf(job, prospect === null ? 0 : (error.retryAfterSeconds ?? 0));
    return { job, status: 'in_progress', delayMs, isOutputGone: prospect === 'gone' };
  }

  private delayOf({ id, outputAttempts }: VideoJob, askedSeconds: number): number {
    const usualMs = fetchDelayMs(Math.max(this.finished.failed(id), outputAttempts));
    if (this.finished.outputsOf(id) !== null) return Math.min(SLOWEST_COMMIT_MS, usualMs);
    return Math.max(usualMs, Math.min(LONGEST_WAIT_MS, askedSeconds * 1_000));
  }

  /**
   * Returns the price that was fixed when the job was accepted; for token prices, the cost of the reported tokens if it
   * is plausible.
   */
  private costsOf(
    job: VideoJob,
    prices: Parameters<typeof isPricedByToken>[0],
    { completionTokens }: Completed,
  ): Pick<Extract<VideoEnd, { status: 'completed' }>, 'costUsd' | 'upstreamCostUsd'> {
    const isOwn = job.credentialId !== null;
    const quoted = { costUsd: job.priceUsd, upstreamCostUsd: isOwn ? job.listPriceUsd : null };
    if (completionTokens === undefined || !isPricedByToken(prices)) return quoted;
    // There is no finished video without tokens.
    const isCount = Number.isSafeInteger(completionTokens) && completionTokens > 0;
    const list = isCount ? priceVideoTokens(prices, completionTokens) : null;
    if (list === null || list.totalCost > parseUsd(job.listPriceUsd) * MOST_TIMES_QUOTED) {
      this.logger.error(`the bill of ${job.provider} for video ${job.id} cannot be true; its quote is charged`);
      return quoted;
    }
    const cost = isOwn ? byokCost(list, parsePercent(this.env.BYOK_FEE_PERCENT)) : list;
    return { costUsd: formatUsd(cost.totalCost), upstreamCostUsd: isOwn ? formatUsd(list.totalCost) : null };
  }
}

function wordsOf(prospect: Prospect | null): string {
  return prospect === null ? NOT_STORED : NOT_FETCHED;
}
