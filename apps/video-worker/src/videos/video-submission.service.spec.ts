import { AppError } from '@libs/errors';
import { Cancellation, type VideoApi, type VideoStart } from '@libs/inference';
import type { VideoJob, VideoJobsRepository } from '@libs/persistence';
import { Logger } from '@nestjs/common';
import type { VideoWorkerEnv } from '../video-worker.env';
import type { VideoCloserService } from './video-closer.service';
import type { VideoEndpoints } from './video-endpoints';
import { VideoSubmissionService } from './video-submission.service';

const JOB: VideoJob = {
  id: 'gen-vid-1763715600-abcdefghijklmnopqrst',
  fence: 1n,
  organizationId: 'o',
  workspaceId: 'w',
  apiKeyHash: 'a'.repeat(64),
  model: 'vendor/film',
  provider: 'vendor',
  upstreamModel: 'film',
  region: 'global',
  credentialId: null,
  status: 'pending',
  step: 'submit',
  attempts: 0,
  outputAttempts: 0,
  searches: 0,
  needsReview: false,
  operation: null,
  callbackUrl: null,
  priceUsd: '1',
  listPriceUsd: '1',
  isOverdue: false,
};
const ACCEPTED: VideoStart = { kind: 'accepted', operation: { id: 'up-1' } };
const silence = new AppError('timeout', 'The provider did not answer in time');

/** A row in memory, and a provider that bills each job it makes. */
class Scene {
  job: VideoJob = JOB;
  ended: string | null = null;
  readonly billed: string[] = [];
  /** What was said of the key. */
  readonly failures: AppError[] = [];
  readonly service: VideoSubmissionService;
  answer: () => Promise<VideoStart> = async () => ACCEPTED;

  constructor(provider: { idempotent?: boolean; find?: VideoApi['find'] } = {}) {
    const jobs = {
      beginSubmission: async () => {
        this.job = { ...this.job, step: 'submitting', attempts: this.job.attempts + 1 };
        return { prompt: 'A heron lands.' };
      },
      markSubmitted: async (_job: VideoJob, operation: Record<string, unknown>) => {
        this.job = { ...this.job, step: 'poll', operation };
        return true;
      },
      retrySubmission: async (_job: VideoJob, step: 'submit' | 'submitting') => {
        this.job = { ...this.job, step };
      },
      countSearch: async () => {
        this.job = { ...this.job, searches: this.job.searches + 1 };
      },
      sendToReview: async () => {
        this.ended = 'in review';
        this.job = { ...this.job, needsReview: true };
        return true;
      },
    };
    const end = (how: string) => async (): Promise<void> => {
      this.ended = how;
    };
    const closer = { fail: end('failed'), expire: end('expired') };
    const api = {
      start: (_request: unknown, _access: unknown, reference: string) => {
        const isRepeated = provider.idempotent === true && this.billed.includes(reference);
        if (!isRepeated) this.billed.push(reference);
        return this.answer();
      },
      find: provider.find,
    };
    const route = {
      api,
      can: { idempotentSubmit: provider.idempotent === true },
      accessFor: () => ({}),
      noteFailure: (error: AppError) => void this.failures.push(error),
      noteAnswer: () => undefined,
    };
    this.service = new VideoSubmissionService(
      jobs as unknown as VideoJobsRepository,
      { routeOf: async () => route } as unknown as VideoEndpoints,
      closer as unknown as VideoCloserService,
      { VIDEO_REVIEW_SECONDS: 60 } as VideoWorkerEnv,
    );
  }

  async run(): Promise<void> {
    await this.service.run(this.job, new Cancellation());
  }

  /** The provider took the job, and the process died before it was written down. */
  async dieAfterSubmission(): Promise<void> {
    this.answer = () => new Promise(() => undefined);
    void this.run();
    await new Promise(setImmediate);
    this.answer = async () => ACCEPTED;
    expect(this.job).toMatchObject({ step: 'submitting', attempts: 1 });
  }
}

describe(VideoSubmissionService.name, () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('writes down what the provider calls the job', async () => {
    const scene = new Scene();
    await scene.run();
    expect(scene.job).toMatchObject({ step: 'poll', operation: { id: 'up-1' } });
  });

  it('asks again after a death where the provider knows repetitions, and is billed once', async () => {
    const scene = new Scene({ idempotent: true });
    await scene.dieAfterSubmission();
    await scene.run();
    expect(scene.job.step).toBe('poll');
    expect(scene.billed).toHaveLength(1);
  });

  it('looks for the job after a death where the provider can be searched, and is billed once', async () => {
    let looks = 0;
    const scene = new Scene({ find: async () => ((looks += 1) < 2 ? null : { id: 'found' }) });
    await scene.dieAfterSubmission();
    await scene.run();
    expect(scene.job.step).toBe('submitting');
    await scene.run();
    expect(scene.job).toMatchObject({ step: 'poll', operation: { id: 'found' } });
    expect(scene.billed).toHaveLength(1);
  });

  it('gives up a search after three looks, and never submits again', async () => {
    let looks = 0;
    const find = async (): Promise<null> => {
      looks += 1;
      if (looks === 2) throw silence;
      return null;
    };
    const scene = new Scene({ find });
    await scene.dieAfterSubmission();
    for (let n = 0; n < 6 && scene.ended === null; n += 1) await scene.run();
    expect({ looks, ended: scene.ended, billed: scene.billed.length }).toEqual({
      looks: 3,
      ended: 'in review',
      billed: 1,
    });
  });

  it('looks three times for a job that was refused before, whose last submission nobody heard of', async () => {
    let looks = 0;
    const scene = new Scene({ find: async () => ((looks += 1) < 3 ? null : { id: 'found' }) });
    scene.job = { ...JOB, attempts: 5 };
    scene.answer = () => Promise.reject(silence);
    for (let n = 0; n < 6 && scene.job.step !== 'poll' && scene.ended === null; n += 1) await scene.run();
    expect({ looks, ended: scene.ended, step: scene.job.step }).toEqual({ looks: 3, ended: null, step: 'poll' });
    expect(scene.billed).toHaveLength(1);
  });

  it('fails a job at which no person looked in time, and asks no provider', async () => {
    const scene = new Scene({ idempotent: true, find: async () => ({ id: 'found' }) });
    scene.job = { ...JOB, step: 'submitting', attempts: 1, needsReview: true };
    await scene.run();
    expect({ ended: scene.ended, billed: scene.billed }).toEqual({ ended: 'failed', billed: [] });
  });

  it('leaves the job to a person where neither is possible', async () => {
    const scene = new Scene();
    await scene.dieAfterSubmission();
    await scene.run();
    expect(scene.ended).toBe('in review');
    expect(scene.billed).toHaveLength(1);
  });

  it.each([
    [{}, 'in review', 1],
    [{ idempotent: true }, 'in review', 1],
  ])('never makes a second job of silence: %j', async (provider, ended, billed) => {
    const scene = new Scene(provider);
    scene.answer = () => Promise.reject(silence);
    for (let n = 0; n < 50 && scene.ended === null; n += 1) await scene.run();
    expect({ ended: scene.ended, billed: scene.billed.length }).toEqual({ ended, billed });
  });

  it('tries again after refusals that mean later, within bounds', async () => {
    const scene = new Scene();
    let refusals = 0;
    scene.answer = async () => {
      refusals += 1;
      return { kind: 'refused', error: new AppError('rate_limit_exceeded', 'Later') };
    };
    for (let n = 0; n < 20 && scene.ended === null; n += 1) await scene.run();
    expect({ refusals, ended: scene.ended }).toEqual({ refusals: 6, ended: 'failed' });
    expect(scene.failures).toHaveLength(6);
  });

  it('goes on repeating what was refused for now after several deaths', async () => {
    const scene = new Scene({ idempotent: true });
    for (let death = 0; death < 7; death += 1) {
      scene.answer = () => new Promise(() => undefined);
      void scene.run();
      await new Promise(setImmediate);
    }
    scene.answer = async () => ({ kind: 'refused', error: new AppError('rate_limit_exceeded', 'Later') });
    await scene.run();
    scene.answer = async () => ACCEPTED;
    await scene.run();
    expect({ step: scene.job.step, ended: scene.ended, billed: scene.billed.length }).toEqual({
      step: 'poll',
      ended: null,
      billed: 1,
    });
  });

  it('does not call a job failed whose repetition is refused', async () => {
    const scene = new Scene({ idempotent: true });
    await scene.dieAfterSubmission();
    scene.answer = async () => ({ kind: 'refused', error: new AppError('invalid_request', 'No') });
    await scene.run();
    expect(scene.ended).toBe('in review');
  });

  it('submits nothing whose time is over', async () => {
    const scene = new Scene();
    scene.job = { ...JOB, isOverdue: true };
    await scene.run();
    expect({ ended: scene.ended, billed: scene.billed }).toEqual({ ended: 'expired', billed: [] });
  });
});
