import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { Cancellation } from '@libs/inference';
import { GroupCommit, storeApart, VideoJobsRepository, type VideoJob, type VideoWait } from '@libs/persistence';
import { EachAlone, LeasedWork, ProviderPlaces } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { kindOf, StepTimes } from '../scaling/step-times';
import { VideoPollService } from './video-poll.service';
import { VideoSubmissionService } from './video-submission.service';
import { LEASE_MS, RENEW_EVERY_MS } from './video-timing';

const LOOK_EVERY_MS = 500;
/** One provider gets up to two thirds of the slots, one organization at it up to half. */
const WEIGHTS = { account: 1, provider: 2 };
/** Polls without news are stored together, after this long. */
const LINGER_MS = 100;
const MOST_WAITS = 500;

/**
 * Runs the due steps of jobs, as many at once as this process may. The row of a job says what it waits for; the lane
 * only claims due rows, with lease and fence, runs them and gives them back. A job of a process that died is due again
 * when its lease has expired.
 */
@Injectable()
export class VideoLaneService {
  private readonly logger = new Logger(VideoLaneService.name);
  private readonly each = new EachAlone('videos.step', this.logger);
  private readonly places: ProviderPlaces;
  private readonly abort = new Cancellation();
  private readonly work = new LeasedWork<VideoJob>({
    look: () => this.look(),
    everyMs: LOOK_EVERY_MS,
    run: (job) => this.run(job),
    onEnd: (job) => this.ended(job),
  });
  private readonly waits = new GroupCommit<VideoWait>({
    gatherMs: LINGER_MS,
    mostRows: MOST_WAITS,
    store: (waits) => this.writeWaits(waits),
  });
  private renewTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly jobs: VideoJobsRepository,
    private readonly submission: VideoSubmissionService,
    private readonly poll: VideoPollService,
    private readonly times: StepTimes,
    env: VideoWorkerEnv,
  ) {
    this.places = new ProviderPlaces(env.VIDEO_CONCURRENCY, WEIGHTS);
  }

  start(): void {
    this.renewTimer = setInterval(() => void this.renew(), RENEW_EVERY_MS);
    this.wake();
  }

  /** Looks for due jobs now. */
  wake(): void {
    this.work.wake();
  }

  /**
   * Claims nothing more, aborts polls and downloads, and lets submissions end, because only this process gets their
   * responses. Writes that PostgreSQL has not yet accepted are tried once more.
   */
  async drain(): Promise<void> {
    await this.work.drain(0, () => this.abort.abort());
    await this.waits.flush();
    if (this.renewTimer !== null) clearInterval(this.renewTimer);
  }

  private async look(): Promise<void> {
    const { free } = this.places;
    if (free === 0) return;
    try {
      const due = await this.jobs.claimDue(free, LEASE_MS, this.each.restingIds(), this.places.rooms());
      const { taken, left } = this.places.takeEach(due);
      for (const job of taken) this.work.begin(job);
      if (left.length > 0) await this.jobs.giveBack(left);
      if (due.length === free && this.places.free > 0) this.wake();
    } catch (error) {
      this.logger.warn(`due videos could not be looked for: ${AppError.from(error).message}`);
    }
  }

  private ended(job: VideoJob): void {
    const isShareFull = !this.places.hasRoom(job);
    this.places.give(job);
    // More jobs may have waited for a slot.
    if (isShareFull) this.wake();
  }

  /** Never throws: a job whose step failed here is due again after its lease and a pause. */
  private async run(job: VideoJob): Promise<void> {
    const beganMs = performance.now();
    await this.each.run(job.id, async () => {
      if (job.step !== 'poll') return this.submission.run(job, this.abort);
      const wait = await this.poll.run(job, this.abort);
      if (wait !== null) this.waits.add(wait);
    });
    this.times.took(kindOf(job.step), (performance.now() - beganMs) / 1_000);
  }

  private async writeWaits(waits: readonly VideoWait[]): Promise<void> {
    const { refused, stuck, failed } = await storeApart(waits, (some) => this.jobs.wait(some));
    for (const { row, error } of [...refused, ...stuck]) this.each.failed(row.job.id, error);
    if (failed === null) return;
    const why = AppError.from(failed.error).message;
    this.logger.warn(`${failed.rows.length} videos wait for their leases to run out: ${why}`);
  }

  private async renew(): Promise<void> {
    const { held } = this.work;
    if (held.length === 0) return;
    try {
      await this.jobs.renew(held, LEASE_MS);
    } catch (error) {
      this.logger.warn(`leases of videos could not be renewed: ${AppError.from(error).message}`);
    }
  }
}
