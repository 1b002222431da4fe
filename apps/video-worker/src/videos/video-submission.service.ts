import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  Cancellation,
  type CancelSignal,
  type VideoOperation,
  type VideoRequest,
  type VideoStart,
} from '@libs/inference';
import { VideoJobsRepository, type VideoJob } from '@libs/persistence';
import { counter } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { untilWritten } from './until-written';
import { VideoCloserService } from './video-closer.service';
import { VideoEndpoints, type VideoRoute } from './video-endpoints';
import { FIRST_POLL_MS, POLL_TIMEOUTS, retryDelayMs, SUBMIT_TIMEOUTS } from './video-timing';

/** Most temporary refusals of a provider. */
const MOST_REFUSALS = 6;
/**
 * How often a submission with unknown outcome is repeated, if a repetition cannot create a second job. Enough for a
 * quarter of an hour of provider failures, or for as many crashes of ours.
 */
const MOST_REPETITIONS = 30;
/**
 * Delays before each search for a job that may have been submitted, because a provider may not list a new job at once.
 */
const SEARCH_DELAYS_MS: readonly number[] = [5_000, 15_000, 60_000];

const reviewed = counter({
  name: 'sluice_videos_in_review_total',
  help: 'Video jobs for which it is unknown whether the provider accepted them',
});

/**
 * Submits jobs, each at most once. A submission costs money and cannot be undone, and this process may die between the
 * provider's response and our write. So the intent is written first. A worker that finds it later submits again only if
 * the provider supports idempotency keys, searches for the job if the provider supports that, and otherwise sends the
 * job to review by an operator. A job that is not reviewed in time fails.
 */
@Injectable()
export class VideoSubmissionService {
  private readonly logger = new Logger(VideoSubmissionService.name);

  constructor(
    private readonly jobs: VideoJobsRepository,
    private readonly endpoints: VideoEndpoints,
    private readonly closer: VideoCloserService,
    private readonly env: VideoWorkerEnv,
  ) {}

  /** Writes the provider's answer until PostgreSQL confirms it; after `stop` it tries once more. */
  async run(job: VideoJob, stop: CancelSignal): Promise<void> {
    if (job.needsReview) return this.closer.fail(job, 'The provider did not say whether it took the job');
    const isUntouched = job.step === 'submit';
    if (isUntouched && job.isOverdue) return this.closer.expire(job);
    let route: VideoRoute;
    try {
      route = await this.endpoints.routeOf(job);
    } catch (thrown) {
      return this.withoutRoute(job, AppError.from(thrown));
    }
    if (isUntouched || this.mayRepeat(job, route)) return this.submit(job, route, stop);
    return this.recover(job, route, stop);
  }

  private async withoutRoute(job: VideoJob, error: AppError): Promise<void> {
    this.logger.warn(`video ${job.id} cannot be submitted: ${error.internal ?? error.message}`);
    if (job.step === 'submitting' && job.isOverdue) return this.review(job);
    if (error.code === 'permission_denied' && job.step === 'submit') return this.closer.fail(job, error.message);
    await this.jobs.retrySubmission(job, job.step === 'submit' ? 'submit' : 'submitting', retryDelayMs(5));
  }

  private mayRepeat({ attempts, isOverdue }: VideoJob, { can }: VideoRoute): boolean {
    return can.idempotentSubmit && attempts < MOST_REPETITIONS && !isOverdue;
  }

  private async submit(job: VideoJob, route: VideoRoute, stop: CancelSignal): Promise<void> {
    const request = await this.jobs.beginSubmission(job);
    if (request === null) return;
    let start: VideoStart;
    try {
      // A stop of this process never aborts the request: without the response the outcome is unknown.
      const access = route.accessFor(new Cancellation(), SUBMIT_TIMEOUTS);
      start = await route.api.start(request as VideoRequest, access, job.id);
    } catch (thrown) {
      const error = AppError.from(thrown);
      route.noteFailure(error);
      return this.unknown(job, route, error);
    }
    if (start.kind === 'refused') {
      route.noteFailure(start.error);
      const { error } = start;
      // Otherwise the provider could have accepted the job, according to its row.
      return untilWritten(
        () => this.refused(job, route, error),
        stop,
        (thrown) => this.logger.warn(`the refusal of video ${job.id} is not written down yet: ${reasonOf(thrown)}`),
      );
    }
    failpoint('video-submitted');
    await this.follow(job, start.operation, stop);
  }

  /** Only this process knows the id. A job without one is lost to its caller, but still billed. */
  private async follow(job: VideoJob, operation: VideoOperation, stop: CancelSignal): Promise<void> {
    const named = `video ${job.id} is ${JSON.stringify(operation)} at ${job.provider}`;
    try {
      const isKnown = await untilWritten(
        () => this.note(job, operation),
        stop,
        (thrown) => this.logger.warn(`${named}, which is not written down yet: ${reasonOf(thrown)}`),
      );
      if (!isKnown) this.logger.error(`${named}, which came too late: it has ended or is known under another id`);
    } catch (thrown) {
      this.logger.error(`${named}, which could not be written down: ${reasonOf(thrown)}`);
      throw thrown;
    }
  }

  private async note(job: VideoJob, operation: VideoOperation): Promise<boolean> {
    if (await this.jobs.markSubmitted(job, operation, FIRST_POLL_MS)) return true;
    return this.jobs.submittedAfterAll(job, operation, FIRST_POLL_MS);
  }

  private async refused(job: VideoJob, { can }: VideoRoute, error: AppError): Promise<void> {
    this.logger.log(`video ${job.id} was refused by ${job.provider}: ${error.internal ?? error.code}`);
    // A repetition that was interrupted before it was answered does not count against later ones.
    const most = job.step === 'submitting' && can.idempotentSubmit ? MOST_REPETITIONS : MOST_REFUSALS;
    if (error.retryable && job.attempts + 1 < most && !job.isOverdue) {
      const delayMs = retryDelayMs(job.attempts, error.retryAfterSeconds);
      return this.jobs.retrySubmission(job, job.step === 'submit' ? 'submit' : 'submitting', delayMs);
    }
    // An earlier try may have been accepted; this refusal is only about the repetition.
    if (job.step === 'submitting') return this.review(job);
    await this.closer.fail(job, error.message);
  }

  private async unknown(job: VideoJob, { can, api }: VideoRoute, error: AppError): Promise<void> {
    this.logger.warn(`video ${job.id}: ${job.provider} gave no answer: ${error.internal ?? error.code}`);
    if (!can.idempotentSubmit && !api.find) return this.review(job);
    const delayMs = can.idempotentSubmit ? retryDelayMs(job.attempts) : SEARCH_DELAYS_MS[0]!;
    await this.jobs.retrySubmission(job, 'submitting', delayMs);
  }

  private async recover(job: VideoJob, { api, accessFor }: VideoRoute, stop: CancelSignal): Promise<void> {
    if (!api.find) return this.review(job);
    await this.jobs.countSearch(job);
    const found = await api.find(job.id, accessFor(new Cancellation(), POLL_TIMEOUTS)).catch((thrown: unknown) => {
      const error = AppError.from(thrown);
      this.logger.warn(`video ${job.id} cannot be searched for: ${error.internal ?? error.code}`);
      return null;
    });
    if (found !== null) return this.follow(job, found, stop);
    const delayMs = SEARCH_DELAYS_MS[job.searches + 1];
    // A job that is not listed may still exist, so there is no second submission.
    return delayMs === undefined ? this.review(job) : this.jobs.retrySubmission(job, 'submitting', delayMs);
  }

  /** Sends the job to review. The provider may have it, so it is not submitted again. */
  private async review(job: VideoJob): Promise<void> {
    const reviewMs = this.env.VIDEO_REVIEW_SECONDS * 1_000;
    if (!(await this.jobs.sendToReview(job, reviewMs))) return;
    reviewed.inc();
    this.logger.error(
      `video ${job.id}: it is unknown whether ${job.provider} accepted it; see sluice videos in-review`,
    );
  }
}

function reasonOf(thrown: unknown): string {
  const { internal, message } = AppError.from(thrown);
  return internal ?? message;
}
