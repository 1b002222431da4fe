import { describeAppProcess } from '@libs/platform/testing';
import { VideoWorkerEnv, readVideoWorkerEnv } from './video-worker.env';

describeAppProcess('video-worker');

describe(VideoWorkerEnv.name, () => {
  it('has a health port of its own', () => {
    expect(readVideoWorkerEnv({}).HEALTH_PORT).toBe(8083);
  });
});
