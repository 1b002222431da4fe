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
import { type VideoEnd, type VideoJob, type VideoWait } from '@libs/persistence';
import { VideoWorkerEnv } from '../video-worker.env';
import { isHopeless } from './output-format';
import { OutputKeeper } from './output-keeper';
import { VideoCloserService } from './video-closer.service';
import { VideoEndpoints, type VideoRoute } from './video-endpoints';
import { DOWNLOAD_TIMEOUTS, POLL_TIMEOUTS, pollDelayMs, retryDelayMs } from './video-timing';

const MOST_FETCHES = 5;
/** What a provider asks for beyond this is not waited for. */
const LONGEST_WAIT_MS = 3_600_000;
/** A bill above so many times the quote is not believed. */
const MOST_TIMES_QUOTED = 4n;

type Completed = Extract<VideoStatus, { state: 'completed' }>;

/** Asks after jobs where they were submitted, and brings home what is finished. */
@Injectable()
export class VideoPollService {
  private readonly logger = new Logger(VideoPollService.name);

  constructor(
    private readonly endpoints: VideoEndpoints,
    private readonly keeper: OutputKeeper,
    private readonly closer: VideoCloserService,
    private readonly env: VideoWorkerEnv,
  ) {}

  /** What is to be waited for, or null when the job came to its end. */
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

  private async complete(
    job: VideoJob,
    { api, accessFor, endpoint }: VideoRoute,
    status: Completed,
    signal: CancelSignal,
  ): Promise<VideoWait | null> {
    try {
      const outputs = await this.keeper.keep(job.id, status.outputs, api, accessFor(signal, DOWNLOAD_TIMEOUTS));
      failpoint('video-fetched');
      const outputsExpireAt = new Date(Date.now() + this.env.VIDEO_RETENTION_HOURS * 3_600_000);
      const costs = this.costsOf(job, endpoint.pricing, status);
      await this.closer.finish(job, { status: 'completed', outputs, outputsExpireAt, ...costs });
      return null;
    } catch (thrown) {
      if (signal.aborted) return { job, status: 'in_progress', delayMs: 0 };
      return this.unfetched(job, thrown);
    }
  }

  private async unfetched(job: VideoJob, thrown: unknown): Promise<VideoWait | null> {
    const why = thrown instanceof AppError ? (thrown.internal ?? thrown.message) : String(thrown);
    this.logger.warn(`the output of video ${job.id} cannot be kept: ${why}`);
    if (isHopeless(thrown) || job.outputAttempts + 1 >= MOST_FETCHES || job.isOverdue) {
      await this.closer.fail(job, 'The finished video could not be fetched from the provider');
      return null;
    }
    const delayMs = retryDelayMs(job.outputAttempts);
    return { job, status: 'in_progress', delayMs, isOutputMissing: true };
  }

  /** What was fixed when the job was accepted; where tokens are paid for, what they cost, as far as it can be true. */
  private costsOf(
    job: VideoJob,
    prices: Parameters<typeof isPricedByToken>[0],
    { completionTokens }: Completed,
  ): Pick<Extract<VideoEnd, { status: 'completed' }>, 'costUsd' | 'upstreamCostUsd'> {
    const isOwn = job.credentialId !== null;
    const quoted = { costUsd: job.priceUsd, upstreamCostUsd: isOwn ? job.listPriceUsd : null };
    if (completionTokens === undefined || !isPricedByToken(prices)) return quoted;
    const isCount = Number.isSafeInteger(completionTokens) && completionTokens >= 0;
    const list = isCount ? priceVideoTokens(prices, completionTokens) : null;
    if (list === null || list.totalCost > parseUsd(job.listPriceUsd) * MOST_TIMES_QUOTED) {
      this.logger.error(`the bill of ${job.provider} for video ${job.id} cannot be true; its quote is charged`);
      return quoted;
    }
    const cost = isOwn ? byokCost(list, parsePercent(this.env.BYOK_FEE_PERCENT)) : list;
    return { costUsd: formatUsd(cost.totalCost), upstreamCostUsd: isOwn ? formatUsd(list.totalCost) : null };
  }
}
