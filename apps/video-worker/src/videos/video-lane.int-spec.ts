import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { VideoJobsRepository, type NewVideo, type VideoJob, type VideoWait } from '@libs/persistence';
import { openTestDatabase, storeVideo, type OpenTestDatabase } from '@libs/persistence/testing';
import type { VideoWorkerEnv } from '../video-worker.env';
import { VideoLaneService } from './video-lane.service';
import { StepTimes } from '../scaling/step-times';
import type { VideoPollService } from './video-poll.service';
import type { VideoSubmissionService } from './video-submission.service';

describe(VideoLaneService.name, () => {
  let opened: OpenTestDatabase;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE videos' }));

  async function storePolled(count: number, values: Partial<NewVideo> = {}): Promise<string[]> {
    const ids = [];
    for (let index = 0; index < count; index += 1) ids.push((await storeVideo(opened.database, values)).id);
    await opened.database.execute({ sql: `UPDATE videos SET step = 'poll', operation = '{}', request = NULL` });
    return ids;
  }

  function laneWith(poll: (job: VideoJob) => Promise<VideoWait | null>): VideoLaneService {
    return new VideoLaneService(
      new VideoJobsRepository(opened.database),
      null as unknown as VideoSubmissionService,
      { run: poll } as unknown as VideoPollService,
      new StepTimes(),
      { VIDEO_CONCURRENCY: 8 } as VideoWorkerEnv,
    );
  }

  async function waiting(): Promise<string[]> {
    const rows = await opened.database.rows<{ id: string }>({
      sql: `SELECT id FROM videos WHERE lease_until IS NULL AND next_at > now() + interval '1 minute'`,
    });
    return rows.map(({ id }) => id);
  }

  it('writes the waits of other videos down when PostgreSQL refuses one of them', async () => {
    const ids = await storePolled(5);
    const bad = ids[2]!;
    const polled = Promise.withResolvers<void>();
    let polls = 0;
    const lane = laneWith(async (job) => {
      polls += 1;
      if (polls === ids.length) polled.resolve();
      return { job, status: 'in_progress', delayMs: job.id === bad ? 1e12 : 600_000 };
    });
    lane.start();
    await polled.promise;
    await lane.drain();
    expect((await waiting()).toSorted()).toEqual(ids.filter((id) => id !== bad).toSorted());
  });

  it('takes the steps of other videos while more of them throw than it has places', async () => {
    const ids = await storePolled(40);
    const good = ids.at(-1)!;
    const isPolled = Promise.withResolvers<void>();
    const lane = laneWith(async (job) => {
      if (job.id !== good) throw new TypeError('poison');
      isPolled.resolve();
      return null;
    });
    lane.start();
    await isPolled.promise;
    await lane.drain();
  });

  /** Returns the videos that are polled up to `good`, while polls of other videos never end. */
  async function askedBefore(good: string): Promise<ReadonlySet<string>> {
    const isAsked = Promise.withResolvers<void>();
    const isAnswered = Promise.withResolvers<void>();
    const asked = new Set<string>();
    const lane = laneWith(async (job) => {
      if (job.id === good) isAsked.resolve();
      else {
        asked.add(job.id);
        await isAnswered.promise;
      }
      return null;
    });
    lane.start();
    await isAsked.promise;
    isAnswered.resolve();
    await lane.drain();
    return asked;
  }

  it('asks after the videos of other providers while one provider answers nothing', async () => {
    await storePolled(40, { provider: 'hung' });
    const [good] = await storePolled(1, { provider: 'healthy' });
    expect((await askedBefore(good!)).size).toBeLessThanOrEqual(5);
  });

  it('asks after the videos of others at a provider while the account of one organization answers nothing', async () => {
    await storePolled(40, { organizationId: randomUUID() });
    const [good] = await storePolled(1);
    expect((await askedBefore(good!)).size).toBeLessThanOrEqual(4);
  });

  it('gives back what it claimed of several providers and has no places for, and takes it when it has', async () => {
    for (let index = 0; index < 12; index += 1) await storePolled(2, { provider: `provider-${index}` });
    const asked = new Set<string>();
    const isOver = Promise.withResolvers<void>();
    let atOnce = 0;
    let most = 0;
    const lane = laneWith(async (job) => {
      most = Math.max(most, (atOnce += 1));
      await new Promise(setImmediate);
      atOnce -= 1;
      asked.add(job.id);
      if (asked.size === 24) isOver.resolve();
      return { job, status: 'in_progress', delayMs: 600_000 };
    });
    lane.start();
    await isOver.promise;
    await lane.drain();
    expect(most).toBeLessThanOrEqual(8);
  });
});
