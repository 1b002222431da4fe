import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { Cancellation, type VideoStart } from '@libs/inference';
import { VideoJobsRepository, type VideoJob } from '@libs/persistence';
import { openTestDatabase, storeVideo, type OpenTestDatabase } from '@libs/persistence/testing';
import type { VideoWorkerEnv } from '../video-worker.env';
import type { VideoCloserService } from './video-closer.service';
import type { VideoEndpoints } from './video-endpoints';
import { VideoSubmissionService } from './video-submission.service';

const LEASE_MS = 60_000;
const OPERATION = { id: 'up-1' };

describe(VideoSubmissionService.name, () => {
  let opened: OpenTestDatabase;
  let jobs: VideoJobsRepository;
  let closer: { fail: jest.Mock; expire: jest.Mock };

  beforeAll(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
    jobs = new VideoJobsRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    closer = { fail: jest.fn(), expire: jest.fn() };
    await opened.database.execute({ sql: 'DROP TRIGGER IF EXISTS away ON videos' });
    await opened.database.execute({ sql: 'DELETE FROM videos' });
  });

  async function claimed(): Promise<VideoJob> {
    await storeVideo(opened.database);
    return (await jobs.claimDue(1, LEASE_MS))[0]!;
  }

  /** As the lease of a worker that stood still for a while. */
  async function takenOver(): Promise<VideoJob> {
    await opened.database.execute({ sql: `UPDATE videos SET lease_until = now() - interval '1 second'` });
    return (await jobs.claimDue(1, LEASE_MS))[0]!;
  }

  /** PostgreSQL ends the statement that stores the id as often as said. A sequence counts also what is rolled back. */
  async function refuseTheId(times: number): Promise<void> {
    await opened.database.execute({ sql: 'CREATE SEQUENCE tries' });
    await opened.database.execute({
      sql: `CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF nextval('tries') <= ${times} THEN RAISE EXCEPTION 'terminating' USING ERRCODE = '57P01'; END IF;
              RETURN NEW; END $$`,
    });
    await opened.database.execute({
      sql: `CREATE TRIGGER away BEFORE UPDATE ON videos FOR EACH ROW
            WHEN (OLD.step = 'submitting' AND NEW.step = 'poll') EXECUTE FUNCTION away()`,
    });
  }

  /** Submits the job; `meanwhile` happens after the provider took it and before its answer is here. */
  function submit(
    job: VideoJob,
    { meanwhile, by = jobs, answer }: { meanwhile?: () => unknown; by?: VideoJobsRepository; answer?: VideoStart } = {},
  ): Promise<void> {
    const api = {
      start: async (): Promise<VideoStart> => {
        await meanwhile?.();
        return answer ?? { kind: 'accepted', operation: OPERATION };
      },
    };
    const route = { api, can: {}, accessFor: () => ({}), noteFailure: () => undefined };
    const service = new VideoSubmissionService(
      by,
      { routeOf: async () => route } as unknown as VideoEndpoints,
      closer as unknown as VideoCloserService,
      { VIDEO_REVIEW_SECONDS: 3_600 } as VideoWorkerEnv,
    );
    return service.run(job, new Cancellation());
  }

  const row = (): Promise<object | null> =>
    opened.database.firstRow({ sql: 'SELECT step, operation, needs_review, lease_until FROM videos' });
  const FOLLOWED = { step: 'poll', operation: OPERATION, needs_review: false, lease_until: null };

  it('keeps the id of a job although PostgreSQL was away when it was to be stored', async () => {
    const job = await claimed();
    await refuseTheId(3);
    await submit(job);
    expect(await row()).toEqual(FOLLOWED);
  });

  it('stores the id of a job that went into review while its provider answered', async () => {
    const job = await claimed();
    await submit(job, { meanwhile: async () => jobs.sendToReview(await takenOver(), 3_600_000) });
    expect(await row()).toEqual(FOLLOWED);
  });

  it('stores the id of a job that another worker holds, which can write nothing more', async () => {
    const job = await claimed();
    let heir!: VideoJob;
    await submit(job, { meanwhile: async () => (heir = await takenOver()) });
    expect(await row()).toEqual(FOLLOWED);
    expect(await jobs.sendToReview(heir, 3_600_000)).toBe(false);
  });

  it('looks up whether the id is stored when PostgreSQL did not answer', async () => {
    const job = await claimed();
    let isAnswered = false;
    class Unanswered extends VideoJobsRepository {
      override async markSubmitted(...args: Parameters<VideoJobsRepository['markSubmitted']>): Promise<boolean> {
        const isStored = await super.markSubmitted(...args);
        if (isAnswered) return isStored;
        isAnswered = true;
        throw new AppError('unavailable', 'The service is temporarily unavailable');
      }
    }
    await submit(job, { by: new Unanswered(opened.database) });
    expect(await row()).toEqual(FOLLOWED);
    expect(isAnswered).toBe(true);
  });

  it('leaves a job alone that has ended, and one that is known under another id', async () => {
    const ended = await claimed();
    await submit(ended, {
      meanwhile: () =>
        opened.database.execute({ sql: `UPDATE videos SET status = 'failed', finished_at = now(), request = NULL` }),
    });
    expect(await row()).toMatchObject({ step: 'submitting', operation: null });
    await opened.database.execute({ sql: 'DELETE FROM videos' });
    const known = await claimed();
    await submit(known, { meanwhile: async () => jobs.markSubmitted(await takenOver(), { id: 'other' }, 0) });
    expect(await row()).toMatchObject({ operation: { id: 'other' } });
  });

  it('keeps a refusal although PostgreSQL was away when it was to be stored', async () => {
    const job = await claimed();
    closer.fail.mockRejectedValueOnce(new AppError('unavailable', 'The service is temporarily unavailable'));
    await submit(job, { answer: { kind: 'refused', error: new AppError('invalid_request', 'not this') } });
    expect(closer.fail.mock.calls).toEqual([
      [job, 'not this'],
      [job, 'not this'],
    ]);
  });
});
