import { setTimeout as delay } from 'node:timers/promises';
import { OpenRouter } from '@openrouter/sdk';
import OpenAI, { toFile } from 'openai';
import { film } from '../../tools/sandbox-provider/src/media/film';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { boxAt, samplesOf } from '../../tools/sandbox-provider/src/testing/mp4-samples';
import { catalogueOf } from '../support/catalogue';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** The clients of OpenAI and OpenRouter, as they are published, before a provider whose films play. */

const MODEL = 'film/heron';
const PATIENCE_MS = 30_000;

let sandbox: Sandbox;
let installation: Installation;
let openai: OpenAI;
let openrouter: OpenRouter;

function catalogue(): string {
  const pricing = { prompt: '0', completion: '0' };
  const model = { slug: MODEL, provider: 'film-house', baseUrl: `${sandbox.url}/v1`, apis: ['video'], pricing };
  const parsed = JSON.parse(catalogueOf([model])) as {
    models: { endpoints: { pricing: object; capabilities: object }[] }[];
  };
  const [endpoint] = parsed.models[0]!.endpoints;
  endpoint!.pricing = { video_second: '0.01' };
  endpoint!.capabilities = { video: { durations: [4, 8], frame_images: ['first_frame'], idempotent_submit: true } };
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  sandbox = await startSandbox({ videoMs: 200 });
  installation = await shareInstallation({ apps: ['auth', 'gateway', 'video-worker'], catalogue: catalogue() });
  const { baseUrl, seed } = installation;
  openai = new OpenAI({ baseURL: baseUrl, apiKey: seed.apiKey, maxRetries: 0 });
  openrouter = new OpenRouter({ serverURL: baseUrl, apiKey: seed.apiKey, retryConfig: { strategy: 'none' } });
}, 240_000);

afterAll(async () => {
  await giveBack(installation);
  await sandbox?.close();
}, 240_000);

/** A PNG of a size, as far as anybody here looks. */
function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(24);
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).copy(header);
  header.writeUInt32BE(13, 8);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header;
}

const retrieved = (id: string): Promise<OpenAI.Video> =>
  eventually(`${id} is completed`, PATIENCE_MS, async () => {
    const video = await openai.videos.retrieve(id);
    // Ours has a state more than theirs, and the client passes it on.
    return video.status === 'completed' ? video : delay(100).then(() => undefined);
  });

/** The provider's film, byte by byte: an MP4 file of H.264 samples, which README's spec plays in a browser. */
function expectFilm(bytes: Buffer): void {
  expect(bytes.equals(film)).toBe(true);
  expect(boxAt(bytes, 'moov/trak/mdia/minf/stbl/stsd').toString('latin1')).toContain('avc1');
  expect(samplesOf(bytes)).toHaveLength(30);
}

const asked = { model: MODEL, prompt: 'A heron lands.', seconds: '4', size: '1280x720' } as const;

describe('the OpenAI client', () => {
  it('has a video made of words, and downloads a film that plays', async () => {
    const { data, response } = await openai.videos.create(asked).withResponse();
    expect(response.status).toBe(202);
    expect(data.id).toMatch(/^gen-vid-/);
    await retrieved(data.id);
    const answer = await openai.videos.downloadContent(data.id, { variant: 'video' });
    expect(answer.headers.get('content-type')).toBe('video/mp4');
    expectFilm(Buffer.from(await answer.arrayBuffer()));
  });

  it('has a video made of a picture: a file, or a link in the form', async () => {
    const picture = png(640, 360);
    const file = await openai.videos.create({
      ...asked,
      input_reference: await toFile(picture, 'heron.png', { type: 'image/png' }),
    });
    const link = await openai.videos.create({
      ...asked,
      input_reference: { image_url: `data:image/png;base64,${picture.toString('base64')}` },
    });
    for (const { id } of [file, link]) expect(await retrieved(id)).toMatchObject({ id });
  });

  it('sends the same in JSON', async () => {
    const { id } = await openai.post<{ id: string }>('/videos', { body: asked });
    expect(await retrieved(id)).toMatchObject({ id });
  });

  it('has one video made by one key, although every form has a boundary of its own', async () => {
    const options = { headers: { 'Idempotency-Key': 'one-heron' } };
    const [first, again] = [await openai.videos.create(asked, options), await openai.videos.create(asked, options)];
    expect(again.id).toBe(first.id);
    await expect(openai.videos.create({ ...asked, seconds: '8' }, options)).rejects.toMatchObject({ status: 422 });
  });

  it('is refused by name', async () => {
    const text = await toFile(Buffer.from('no picture'), 'heron.png', { type: 'image/png' });
    for (const [members, name] of [
      [{ ...asked, seconds: '3' }, 'seconds'],
      [{ ...asked, size: '1x1' }, 'size'],
      [{ ...asked, input_reference: text }, 'input_reference'],
      [{ ...asked, input_reference: { file_id: 'file-1' } }, 'input_reference.file_id'],
    ] as const) {
      const refused = await openai.videos.create(members as unknown as OpenAI.VideoCreateParams).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
      expect((refused as InstanceType<typeof OpenAI.BadRequestError>).message).toContain(`${name} `);
    }
  });

  it.each([
    ['list', () => openai.videos.list(), 405],
    ['delete', () => openai.videos.delete('gen-vid-1763715600-abcdefghijklmnopqrst'), 405],
    ['remix', () => openai.videos.remix('gen-vid-1763715600-abcdefghijklmnopqrst', { prompt: 'p' }), 404],
  ])('is told that there is no way to %s videos', async (_verb, call, status) => {
    await expect(Promise.resolve(call())).rejects.toMatchObject({ status });
  });
});

describe('the OpenRouter client', () => {
  it('has a video made, waits for it and fetches it', async () => {
    const videoGenerationRequest = { model: MODEL, prompt: 'A heron lands.', duration: 4, size: '1280x720' };
    const { id, status } = await openrouter.videoGeneration.generate({ videoGenerationRequest });
    expect(status).toBe('pending');
    const video = await eventually('the video is there', PATIENCE_MS, async () => {
      const job = await openrouter.videoGeneration.getGeneration({ jobId: id });
      return job.status === 'completed' ? job : delay(100).then(() => undefined);
    });
    expect(video).toMatchObject({ generationId: id, usage: { cost: 0.04, isByok: false } });
    const bytes = await openrouter.videoGeneration.getVideoContent({ jobId: id, index: 0 });
    expectFilm(Buffer.from(await new Response(bytes).arrayBuffer()));
    const { data } = await openrouter.videoGeneration.listVideosModels();
    expect(data.map((model) => model.id)).toContain(MODEL);
  });
});
