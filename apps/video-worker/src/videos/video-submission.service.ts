import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { Cancellation, type VideoRequest, type VideoStart } from '@libs/inference';
import { VideoJobsRepository, type VideoJob } from '@libs/persistence';
import { VideoCloserService } from './video-closer.service';
import { VideoEndpoints, type VideoRoute } from './video-endpoints';
import { FIRST_POLL_MS, retryDelayMs, SUBMIT_TIMEOUTS } from './video-timing';

/** How often a provider may refuse for now. */
const MOST_REFUSALS = 6;
/** How often a submission is repeated whose outcome is unknown, where a repetition is no second job. */
const MOST_REPETITIONS = 8;
const MOST_SEARCHES = 3;
const SEARCH_DELAY_MS = 5_000;

/**
 * Submits jobs, each at most once. A submission costs money and cannot be taken back, and this process may die
 * between the provider's yes and our writing it down. So the intent is written first; whoever finds it later asks
 * again only where the provider knows repetitions by their idempotency key, looks for the job where the provider lets
 * itself be searched, and else leaves it to a person.
 */
@Injectable()
export class VideoSubmissionService {
  private readonly logger = new Logger(VideoSubmissionService.name);

  constructor(
    private readonly jobs: VideoJobsRepository,
    private readonly endpoints: VideoEndpoints,
    private readonly closer: VideoCloserService,
  ) {}

  async run(job: VideoJob): Promise<void> {
    const isUntouched = job.step === 'submit';
    if (isUntouched && job.isOverdue) return this.closer.expire(job);
    let route: VideoRoute;
    try {
      route = await this.endpoints.routeOf(job);
    } catch (thrown) {
      return this.withoutRoute(job, AppError.from(thrown));
    }
    if (isUntouched || this.mayRepeat(job, route)) return this.submit(job, route);
    return this.recover(job, route);
  }

  private async withoutRoute(job: VideoJob, error: AppError): Promise<void> {
    this.logger.warn(`video ${job.id} cannot be submitted: ${error.internal ?? error.message}`);
    if (job.step === 'submitting' && job.isOverdue) return this.closer.review(job);
    if (error.code === 'permission_denied' && job.step === 'submit') return this.closer.fail(job, error.message);
    await this.jobs.retrySubmission(job, job.step === 'submit' ? 'submit' : 'submitting', retryDelayMs(5));
  }

  private mayRepeat({ attempts, isOverdue }: VideoJob, { can }: VideoRoute): boolean {
    return can.idempotentSubmit && attempts < MOST_REPETITIONS && !isOverdue;
  }

  private async submit(job: VideoJob, route: VideoRoute): Promise<void> {
    const request = await this.jobs.beginSubmission(job);
    if (request === null) return;
    let start: VideoStart;
    try {
      // Never cut short by our own stopping: what is not heard to the end is not known.
      const access = route.accessFor(new Cancellation(), SUBMIT_TIMEOUTS);
      start = await route.api.start(request as VideoRequest, access, job.id);
    } catch (thrown) {
      const error = AppError.from(thrown);
      route.noteFailure(error);
      return this.unknown(job, route, error);
    }
    if (start.kind === 'refused') {
      route.noteFailure(start.error);
      return this.refused(job, start.error);
    }
    await this.jobs.markSubmitted(job, start.operation, FIRST_POLL_MS);
  }

  private async refused(job: VideoJob, error: AppError): Promise<void> {
    this.logger.log(`video ${job.id} was refused by ${job.provider}: ${error.internal ?? error.code}`);
    if (error.retryable && job.attempts + 1 < MOST_REFUSALS && !job.isOverdue) {
      const delayMs = retryDelayMs(job.attempts, error.retryAfterSeconds);
      return this.jobs.retrySubmission(job, job.step === 'submit' ? 'submit' : 'submitting', delayMs);
    }
    // An earlier try may have been taken; this refusal is about the repetition only.
    if (job.step === 'submitting') return this.closer.review(job);
    await this.closer.fail(job, error.message);
  }

  private async unknown(job: VideoJob, { can, api }: VideoRoute, error: AppError): Promise<void> {
    this.logger.warn(`video ${job.id}: ${job.provider} gave no answer: ${error.internal ?? error.code}`);
    if (!can.idempotentSubmit && !api.find) return this.closer.review(job);
    const delayMs = can.idempotentSubmit ? retryDelayMs(job.attempts) : SEARCH_DELAY_MS;
    await this.jobs.retrySubmission(job, 'submitting', delayMs);
  }

  private async recover(job: VideoJob, { api, accessFor }: VideoRoute): Promise<void> {
    // The submission itself was the first attempt.
    const searches = job.attempts - 1;
    if (!api.find || searches >= MOST_SEARCHES) return this.closer.review(job);
    await this.jobs.countSearch(job);
    const found = await api.find(job.id, accessFor(new Cancellation(), SUBMIT_TIMEOUTS)).catch((thrown: unknown) => {
      this.logger.warn(`video ${job.id} cannot be searched for: ${AppError.from(thrown).internal ?? 'unknown'}`);
      return null;
    });
    if (found === null) return this.jobs.retrySubmission(job, 'submitting', SEARCH_DELAY_MS);
    await this.jobs.markSubmitted(job, found, FIRST_POLL_MS);
  }
}
