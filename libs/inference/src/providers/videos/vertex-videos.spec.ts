import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider, FakeUpstream } from '../../testing';
import { GoogleVertexProvider } from '../google-vertex.provider';
import { aServiceAccount, startTokenEndpoint, tokensFrom } from '../testing/service-account';
import { UpstreamHttp } from '../../wire/upstream-http';
import type { VideoAccess, VideoRequest } from '../../videos/video-provider';
import { VertexVideos } from './vertex-videos';

const MODEL = '/v1/projects/acme-prod/locations/us-central1/publishers/google/models/veo-3.1-generate-001';
const OPERATION = { id: `${MODEL.slice('/v1/'.length)}/operations/1` };
const REQUEST: VideoRequest = {
  prompt: 'A heron lands.',
  durationSeconds: 8,
  resolution: '1080p',
  aspectRatio: '9:16',
  width: 1_080,
  height: 1_920,
  generateAudio: true,
  firstFrame: null,
  lastFrame: null,
  references: [],
  seed: null,
  creativity: null,
  upscaleFactor: null,
  options: {},
  continues: null,
};

describe(VertexVideos.name, () => {
  let upstream: FakeUpstream;
  let tokens: FakeUpstream;
  let http: UpstreamHttp;
  let videos: VertexVideos;
  let access: VideoAccess;

  beforeEach(async () => {
    [upstream, tokens] = await Promise.all([FakeUpstream.start(), startTokenEndpoint()]);
    http = new UpstreamHttp();
    videos = new GoogleVertexProvider(http, tokensFrom(tokens, http)).video;
    access = {
      endpoint: anEndpoint({
        provider: aProvider({ protocol: 'google-vertex', baseUrl: upstream.baseUrl }),
        upstreamModel: 'veo-3.1-generate-001',
        region: 'us-central1',
        apis: ['video'],
      }),
      apiKey: new Secret(JSON.stringify(aServiceAccount())),
      signal: new AbortController().signal,
      timeouts: { headersMs: 2_000, idleMs: 2_000, totalMs: 2_000 },
    };
  });

  afterEach(async () => {
    await Promise.all([upstream.close(), tokens.close()]);
    await http.close();
  });

  const done = (response: object): void =>
    upstream.answers(200, JSON.stringify({ name: OPERATION.id, done: true, response }));
  const sentParameters = (): unknown => (JSON.parse(upstream.requests[0]!.body) as { parameters: unknown }).parameters;

  it('submits in the project of the document and the region of the endpoint, with a token of the account', async () => {
    upstream.answers(200, JSON.stringify({ name: OPERATION.id }));
    expect(await videos.start(REQUEST, access)).toEqual({ kind: 'accepted', operation: OPERATION });
    const [{ path, headers, body }] = upstream.requests as [(typeof upstream.requests)[number]];
    expect(path).toBe(`${MODEL}:predictLongRunning`);
    expect(headers).toMatchObject({ authorization: 'Bearer ya29.token' });
    expect(JSON.stringify(headers) + body).not.toContain('PRIVATE KEY');
  });

  it('asks for one film with the sound that was asked for, and names no bucket whatever the options say', async () => {
    upstream.answers(200, JSON.stringify({ name: OPERATION.id }));
    const options = { storageUri: 'gs://somebody-elses/', sampleCount: 4, personGeneration: 'allow_adult' };
    await videos.start({ ...REQUEST, options }, access);
    expect(sentParameters()).toEqual({
      personGeneration: 'allow_adult',
      aspectRatio: '9:16',
      resolution: '1080p',
      durationSeconds: 8,
      generateAudio: true,
      sampleCount: 1,
    });
  });

  it('knows that nothing was submitted when there is no token for it', async () => {
    tokens.answers(400, '{"error":"invalid_grant"}');
    expect(await videos.start(REQUEST, access)).toMatchObject({
      kind: 'refused',
      error: { code: 'provider_unavailable' },
    });
    expect(upstream.requests).toHaveLength(0);
  });

  it('refuses to go on from an earlier video before it asks anybody', async () => {
    const started = await videos.start({ ...REQUEST, continues: OPERATION }, access);
    expect(started).toMatchObject({ kind: 'refused', error: { code: 'invalid_request', retryable: false } });
    expect([...upstream.requests, ...tokens.requests]).toHaveLength(0);
  });

  it('fetches a token anew when one is no longer accepted, at a submission and at a question', async () => {
    upstream.answers(401, '{"error":{"code":401,"status":"UNAUTHENTICATED"}}');
    expect(await videos.start(REQUEST, access)).toMatchObject({ kind: 'refused' });
    await expect(videos.status(OPERATION, access)).rejects.toMatchObject({ code: 'provider_unavailable' });
    done({});
    await videos.status(OPERATION, access);
    expect(tokens.requests).toHaveLength(3);
  });

  it('finds each film in the answer, and takes it out piece by piece', async () => {
    const films = [Buffer.alloc(700_001, 0x17), Buffer.alloc(90_000, 0xfb)];
    done({ videos: films.map((film) => ({ bytesBase64Encoded: film.toString('base64'), mimeType: 'video/mp4' })) });
    const status = await videos.status(OPERATION, access);
    expect(status).toEqual({ state: 'completed', outputs: films.map((_, index) => ({ answer: OPERATION, index })) });
    for (const [index, film] of films.entries()) {
      const opened = await videos.open({ answer: OPERATION, index }, access);
      const pieces: Buffer[] = [];
      if (opened.kind !== 'stream') throw new Error('no stream');
      for (let piece = await opened.stream.read(); piece !== null; piece = await opened.stream.read()) {
        pieces.push(piece);
      }
      expect(Buffer.concat(pieces).equals(film)).toBe(true);
    }
  });

  it.each<[string, object | string]>([
    ['is in a bucket', { videos: [{ gcsUri: 'gs://a/b.mp4', mimeType: 'video/mp4' }] }],
    ['has no bytes', { videos: [{ bytesBase64Encoded: '', mimeType: 'video/mp4' }] }],
    ['is no base64', { videos: [{ bytesBase64Encoded: '<html>' }] }],
  ])('cannot read an answer whose film %s', async (_what, response) => {
    done(response as object);
    await expect(videos.status(OPERATION, access)).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('notices a film that breaks off', async () => {
    upstream.answers(200, `{"name":"${OPERATION.id}","done":true,"response":{"videos":[{"bytesBase64Encoded":"QUJD`);
    const opened = await videos.open({ answer: OPERATION, index: 0 }, access);
    if (opened.kind !== 'stream') throw new Error('no stream');
    expect((await opened.stream.read())?.toString()).toBe('ABC');
    await expect(opened.stream.read()).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});
