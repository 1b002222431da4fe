import { film } from '../media/film';
import { boxAt, boxesOf, samplesOf } from '../testing/mp4-samples';
import { SandboxClient, type JsonAnswer } from '../testing/sandbox-client';
import { VideoTasks } from './video-tasks';
import { Videos } from './videos';

describe('the film', () => {
  it('holds its boxes in an order that plays at once, with the length it says', () => {
    expect(boxesOf(film).map(({ name }) => name)).toEqual(['ftyp', 'moov', 'mdat']);
    const header = boxAt(film, 'moov/mvhd');
    expect(header.readUInt32BE(16) / header.readUInt32BE(12)).toBe(3);
    expect(film.includes('[sandbox]')).toBe(true);
    const data = boxesOf(film)[2];
    expect(boxAt(film, 'moov/trak/mdia/minf/stbl/stco').readUInt32BE(8)).toBe((data?.start ?? 0) + 8);
    expect(samplesOf(film).reduce((sum, sample) => sum + sample.length, 0)).toBe(data?.body.length);
  });

  it('moves, and starts a key picture every second', () => {
    const samples = samplesOf(film);
    expect(new Set(samples.map((sample) => sample.toString('latin1'))).size).toBe(30);
    expect(samples.flatMap((sample, index) => (((sample[4] ?? 0) & 31) === 5 ? [index] : []))).toEqual([0, 10, 20]);
  });
});

describe(Videos.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const order = (members: object = {}): object => ({ model: 'sandbox-video', prompt: 'a cat', ...members });
  const create = async (members: object = {}, headers: Record<string, string> = {}): Promise<JsonAnswer['body']> =>
    (await client.post('/v1/videos', order(members), headers)).body;

  it('runs through its states, and gives its film at the end', async () => {
    const model = 'sandbox-video?video_ms=400';
    const created = await create({ model, seconds: '2', size: '1280x720' });
    expect(created).toMatchObject({
      id: expect.stringMatching(/^video_/),
      object: 'video',
      model: 'sandbox-video',
      status: 'queued',
      progress: 0,
      seconds: '2',
      size: '1280x720',
      completed_at: null,
      error: null,
    });
    const path = `/v1/videos/${created.id}`;
    expect((await client.get(`${path}/content`)).status).toBe(404);
    await client.until(path, ({ status, progress }) => status === 'in_progress' && progress > 0 && progress < 100);
    const done = await client.until(path, ({ status }) => status === 'completed');
    expect(done).toMatchObject({ progress: 100, completed_at: expect.any(Number) });
    const content = await client.fetch(`${path}/content`);
    expect(content.headers.get('content-type')).toBe('video/mp4');
    expect(Buffer.from(await content.arrayBuffer()).equals(film)).toBe(true);
  });

  it('takes a form as well as JSON, and has defaults', async () => {
    const form = new FormData();
    form.set('model', 'sandbox-video');
    form.set('prompt', 'a dog');
    const { body } = await client.form('/v1/videos', form);
    expect(body).toMatchObject({ prompt: 'a dog', seconds: '4', size: '720x1280', status: 'completed' });
  });

  it('makes one video for one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'one' };
    const first = await create({}, headers);
    expect((await create({}, headers)).id).toBe(first.id);
    expect((await create({}, { 'idempotency-key': 'two' })).id).not.toBe(first.id);
    const { status, body } = await client.post('/v1/videos', order({ prompt: 'another' }), headers);
    expect(status).toBe(409);
    expect(body.error.code).toBe('idempotency_key_reused');
  });

  it('makes a video although its answer is lost, and the same one of a repetition', async () => {
    const members = { model: 'm?reset=1&fail_times=1', prompt: 'lost' };
    const headers = { 'idempotency-key': 'lost' };
    await expect(client.post('/v1/videos', order(members), headers)).rejects.toThrow('fetch failed');
    const { id } = await create(members, headers);
    const { data } = (await client.get('/v1/videos')).body;
    const made = data.filter(({ prompt }: { prompt: string }) => prompt === 'lost');
    expect(made).toMatchObject([{ id }]);
  });

  it('fails when it is told to', async () => {
    const video = await create({ model: 'm?video_end=failed' });
    expect(video).toMatchObject({ status: 'failed', error: { code: 'sandbox_failure' } });
    expect((await client.get(`/v1/videos/${video.id}/content`)).status).toBe(404);
    expect((await client.post('/v1/videos', order({ model: 'm?status=429' }))).status).toBe(429);
  });

  it('forgets a video that was deleted, and the oldest beyond a thousand', async () => {
    const { id } = await create();
    expect((await client.delete(`/v1/videos/${id}`)).body).toEqual({ id, object: 'video.deleted', deleted: true });
    expect((await client.get(`/v1/videos/${id}`)).status).toBe(404);
    const oldest = await create();
    const youngest = await Promise.all(Array.from({ length: 1_000 }, () => create()));
    expect((await client.get(`/v1/videos/${oldest.id}`)).status).toBe(404);
    expect((await client.get(`/v1/videos/${youngest.at(-1).id}`)).status).toBe(200);
  });

  it.each([
    ['prompt', { prompt: '' }],
    ['model', { model: undefined }],
    ['seconds', { seconds: '61' }],
    ['seconds', { seconds: 'long' }],
    ['size', { size: 'large' }],
    ['size', { size: '00x00' }],
  ])('names %s when it is at fault: %j', async (param, members) => {
    const { status, body } = await client.post('/v1/videos', order(members));
    expect(status).toBe(400);
    expect(body.error.param).toBe(param);
  });
});

describe(VideoTasks.name, () => {
  const PATH = '/v1/contents/generations/tasks';
  let client: SandboxClient;

  beforeEach(async () => {
    client = await SandboxClient.start();
  });

  afterEach(() => client.close());

  const order = (text: string, members: object = {}): object => ({
    model: 'sandbox-video',
    content: [{ type: 'text', text }],
    ratio: '9:16',
    duration: 2,
    ...members,
  });

  it('makes the same film, at a link that it names', async () => {
    const { id } = (await client.post(PATH, order('a heron'))).body;
    const { body } = await client.get(`${PATH}/${id}`);
    expect(body).toMatchObject({ id, status: 'succeeded', duration: 2, usage: { completion_tokens: 40_000 } });
    const content = await fetch(body.content.video_url);
    expect(Buffer.from(await content.arrayBuffer()).equals(film)).toBe(true);
  });

  it('lists by what a task was called, also one whose answer was lost', async () => {
    await client.post(PATH, order('named', { safety_identifier: 'job-1' }));
    const lost = { model: 'sandbox-video?reset=1', safety_identifier: 'job-2' };
    await expect(client.post(PATH, order('lost', lost))).rejects.toThrow('fetch failed');
    await client.post(PATH, order('nameless'));
    const { body } = await client.get(`${PATH}?page_num=1&page_size=2`);
    expect(body.total).toBe(3);
    expect(body.items.map((task: object) => 'safety_identifier' in task)).toEqual([false, true]);
    const next = (await client.get(`${PATH}?page_num=2&page_size=2`)).body.items;
    expect([...body.items, ...next]).toMatchObject([
      {},
      { safety_identifier: 'job-2' },
      { safety_identifier: 'job-1' },
    ]);
  });

  it.each([
    ['prompt', order('')],
    ['content', { model: 'm' }],
    ['seconds', order('long', { duration: 600 })],
  ])('names %s when it is at fault', async (param, body) => {
    const answer = await client.post(PATH, body);
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
    expect((await client.get(`${PATH}?page_size=501`)).status).toBe(400);
  });
});
