import { readVideoWorkerEnv, VideoWorkerEnv } from './video-worker.env';

describe(VideoWorkerEnv.name, () => {
  it('has a health port of its own', () => {
    expect(readVideoWorkerEnv({}).HEALTH_PORT).toBe(8083);
  });

  it('keeps the key of the bucket to itself', () => {
    const env = readVideoWorkerEnv({ BLOB_S3_URL: 'https://KEY:hush-hush@s3.example.com/films' });
    expect(JSON.stringify(env)).not.toContain('hush-hush');
    expect(() => readVideoWorkerEnv({ BLOB_S3_URL: 'ftp://hush-hush' })).toThrow(/BLOB_S3_URL/);
  });
});
