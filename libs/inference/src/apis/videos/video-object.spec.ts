import { toVideoEventData, toVideoObject, type ShownVideo } from './video-object';

const PUBLIC_URL = 'https://gateway.example';
const LINKS = [0, 1].map((index) => `${PUBLIC_URL}/api/v1/videos/gen-vid-1/content?index=${index}`);
const JOB = { id: 'gen-vid-1', model: 'acme/film', credentialId: null };
const PENDING: ShownVideo = {
  ...JOB,
  status: 'pending',
  costUsd: null,
  outputs: null,
  outputsExpireAt: null,
  errorMessage: null,
};

describe(toVideoObject.name, () => {
  it('says of an open job where to ask for it, and no more', () => {
    expect(toVideoObject(PENDING, PUBLIC_URL)).toEqual({
      id: 'gen-vid-1',
      status: 'pending',
      polling_url: '/api/v1/videos/gen-vid-1',
    });
  });

  it('says what a finished one cost, and has no links once its copy is gone', () => {
    const finished: ShownVideo = { ...PENDING, status: 'completed', costUsd: '0.25', credentialId: 'own' };
    const kept = { ...finished, outputs: [{}, {}], outputsExpireAt: 1_800_000_000 };
    const told = { generation_id: 'gen-vid-1', usage: { cost: 0.25, is_byok: true } };
    expect(toVideoObject(kept, PUBLIC_URL)).toMatchObject({ ...told, unsigned_urls: LINKS, expires_at: 1_800_000_000 });
    expect(toVideoObject(finished, PUBLIC_URL)).not.toHaveProperty('unsigned_urls');
  });

  it('says why one failed', () => {
    const failed: ShownVideo = { ...PENDING, status: 'failed', errorMessage: 'No' };
    expect(toVideoObject(failed, PUBLIC_URL)).toMatchObject({ generation_id: 'gen-vid-1', error: 'No' });
  });
});

describe(toVideoEventData.name, () => {
  const named = { id: 'gen-vid-1', generation_id: 'gen-vid-1', model: 'acme/film' };

  it('has the links and the cost of the job', () => {
    const end = { status: 'completed', outputs: [{}, {}], costUsd: '0.25' } as const;
    const usage = { cost: 0.25, is_byok: false };
    expect(toVideoEventData(JOB, end, PUBLIC_URL)).toEqual({
      ...named,
      status: 'completed',
      unsigned_urls: LINKS,
      usage,
    });
  });

  it('says why there is no video', () => {
    const end = { status: 'expired', errorMessage: 'Late' } as const;
    expect(toVideoEventData(JOB, end, PUBLIC_URL)).toEqual({ ...named, status: 'expired', error: 'Late' });
  });
});
