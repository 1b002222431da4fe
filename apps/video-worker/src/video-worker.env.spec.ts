import { readVideoWorkerEnv, VideoWorkerEnv } from './video-worker.env';

describe(VideoWorkerEnv.name, () => {
  it('has a health port of its own and reaches no private range unless it is told to', () => {
    expect(readVideoWorkerEnv({})).toMatchObject({ HEALTH_PORT: 8083, WEBHOOK_RETENTION_DAYS: 30 });
    expect(readVideoWorkerEnv({}).EGRESS_ALLOW_CIDRS).toBeUndefined();
    expect(readVideoWorkerEnv({ EGRESS_ALLOW_CIDRS: '10.0.0.0/8' }).EGRESS_ALLOW_CIDRS).toEqual(['10.0.0.0/8']);
  });

  it('names every bad variable and none of their values', () => {
    const bad = { HEALTH_PORT: 'canary', LOG_LEVEL: 'canary', AMQP_URL: 'canary', WEBHOOK_RETENTION_DAYS: 'canary' };
    const read = (): unknown => readVideoWorkerEnv(bad);
    for (const name of Object.keys(bad)) expect(read).toThrow(`${name} must be`);
    expect(read).not.toThrow('canary');
  });

  it('keeps the key of the bucket to itself', () => {
    const env = readVideoWorkerEnv({ BLOB_S3_URL: 'https://KEY:hush-hush@s3.example.com/films' });
    expect(JSON.stringify(env)).not.toContain('hush-hush');
    expect(() => readVideoWorkerEnv({ BLOB_S3_URL: 'ftp://hush-hush' })).toThrow(/BLOB_S3_URL/);
  });
});
