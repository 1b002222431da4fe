import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream, type Behaviour, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { CANARY, expectRefusal } from './refusals';

/** The first bytes of an MP4, and enough behind them to cut ranges from. */
const CLIP = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(4_084, 7)]);
const SECOND_USD = '0.0123';
const CALLBACK = 'https://receiver.example.com/hook';

interface Json {
  readonly [name: string]: unknown;
}

interface VideoBody {
  readonly id: string;
  readonly status: string;
  readonly polling_url: string;
  readonly generation_id?: string;
  readonly unsigned_urls?: readonly string[];
  readonly expires_at?: number;
  readonly error?: string;
  readonly usage?: { readonly cost: string; readonly is_byok: boolean };
}

/** The jobs of one provider: what was asked, and how often each is polled. */
interface UpstreamJob {
  readonly id: string;
  readonly body: Json;
  polls: number;
}

/** Longer than a lease: a step that failed for a reason of the machine is taken again when its lease ends. */
const ENDED_MS = 50_000;
let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;
let neighbour: ApiClient;
let poor: { client: ApiClient; tenant: Tenant };

const jobs = new Map<string, UpstreamJob>();
const send = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

/** How a job of the provider looks after so many polls. */
type Course = (job: UpstreamJob) => { readonly status: string; readonly [name: string]: unknown };
const done: Course = () => ({ status: 'completed' });
const later: Course = ({ polls }) => ({ status: polls < 2 ? 'in_progress' : 'completed' });

/** An OpenAI-speaking provider of videos. */
function provider(course: Course, content: Behaviour = clip, start: Behaviour = accept): Behaviour {
  return (response, received) => {
    if (received.method === 'POST') return start(response, received);
    const [, id = '', rest] = /\/v1\/videos\/([^/]+)\/?(.*)$/.exec(received.path) ?? [];
    const job = jobs.get(id);
    if (!job) return send(response, 404, { error: { message: 'No such video' } });
    if (rest === 'content') return content(response, received);
    job.polls += 1;
    return send(response, 200, { id, object: 'video', ...course(job) });
  };
}

function accept(response: ServerResponse, { body }: ReceivedRequest): void {
  const job = { id: `video_${randomUUID()}`, body: JSON.parse(body) as Json, polls: 0 };
  jobs.set(job.id, job);
  send(response, 200, { id: job.id, object: 'video', status: 'queued' });
}

function clip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'video/mp4' });
  response.end(CLIP);
}

const answers =
  (status: number, body: string): Behaviour =>
  (response) => {
    response.writeHead(status);
    response.end(body);
  };

/** Vertex AI, whose answer to the question after a job holds the film itself. */
const vertex: Behaviour = (response, { path, body }) => {
  const name = 'projects/acme/locations/global/publishers/google/models/upstream-vid-vertex/operations/1';
  if (path.endsWith(':predictLongRunning')) return send(response, 200, { name });
  const isAsked = path.endsWith(':fetchPredictOperation') && body === JSON.stringify({ operationName: name });
  if (!isAsked) return send(response, 404, { error: { message: 'No such operation' } });
  const videos = [{ bytesBase64Encoded: CLIP.toString('base64'), mimeType: 'video/mp4' }];
  return send(response, 200, { name, done: true, response: { raiMediaFilteredCount: 0, videos } });
};

let hiccups = 0;
let isOwnDone = false;

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  steady: provider(done),
  later: provider(later),
  slow: provider(() => ({ status: 'in_progress' })),
  refuses: provider(done, clip, answers(400, '{"error":{"message":"not this","code":"moderation_blocked"}}')),
  fails: provider(() => ({ status: 'failed', error: { message: `It rained. sk-${'a'.repeat(30)}` } })),
  hiccups: provider(done, clip, (response, received) => {
    hiccups += 1;
    if (hiccups < 3) return send(response, 429, { error: { message: 'later' } });
    return accept(response, received);
  }),
  // Took it, perhaps, and says nothing of it.
  silent: provider(done, clip, (response) => response.socket?.destroy()),
  foreign: provider(() => ({ id: 'video_of_somebody_else', status: 'completed' })),
  'no-output': provider(() => ({ status: 'completed' }), answers(200, '')),
  'no-video': provider(() => ({ status: 'completed' }), answers(200, '<html>sorry</html>')),
  // Once terminal, always terminal.
  flips: provider(({ polls }) => ({ status: polls === 1 ? 'completed' : 'failed' })),
  vertex,
  own: provider(() => ({ status: isOwnDone ? 'completed' : 'in_progress' })),
};

const CAPABILITIES = {
  durations: [2, 4],
  resolutions: ['480p', '720p'],
  aspect_ratios: ['16:9', '9:16', '1:1'],
  generate_audio: false,
  frame_images: ['first_frame'],
  continuation: true,
};

function catalogue(): string {
  const model = (name: string): TestModel => ({
    slug: `vid/${name}`,
    // The one for which callers may have a key of their own.
    provider: name === 'own' ? 'runway' : `vid-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    protocol: name === 'vertex' ? 'google-vertex' : 'openai',
    apis: ['video'],
    pricing: { prompt: '0', completion: '0' },
  });
  const plain = { ...model('steady'), slug: 'vid/chat', provider: 'vid-chat', apis: ['chat'] };
  const parsed = JSON.parse(catalogueOf([...Object.keys(BEHAVIOURS).map(model), plain])) as {
    models: { slug: string; aliases?: string[]; endpoints: { pricing: object; capabilities: object }[] }[];
  };
  for (const each of parsed.models) {
    const { slug, endpoints } = each;
    if (slug === 'vid/chat') continue;
    each.aliases = [`${slug.slice(4)}-film`];
    endpoints[0]!.pricing = { video_second: SECOND_USD, video_second_480p: '0.001' };
    endpoints[0]!.capabilities = { video: CAPABILITIES };
  }
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, received) => BEHAVIOURS[received.path.split('/')[1]!]!(response, received);
  installation = await Installation.start({
    catalogue: catalogue(),
    environment: { VIDEO_SUBMISSIONS_PER_MINUTE: '100000', VIDEO_REVIEW_SECONDS: '2' },
  });
  client = installation.client();
  const operator = new Operator(installation);
  const manager = installation.client(installation.seed.managementKey);
  const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'Near', slug: 'near' });
  const key = await manager.request<{ key: string }>('POST', '/keys', { name: 'k', workspace_id: made.body.data.id });
  await manager.close();
  neighbour = installation.client(key.body.key);
  const tenant = await operator.createTenant('Poor', '0.246');
  poor = { client: installation.client(tenant.apiKey), tenant };
}, 240_000);

afterAll(async () => {
  await Promise.all([client, neighbour, poor?.client].map((each) => each?.close()));
  await installation?.stop();
  await upstream?.close();
});

const videoOf = (members: Json = {}): Json => ({
  model: 'vid/steady',
  prompt: 'A heron lands.',
  duration: 2,
  ...members,
});
const submit = (
  members: Json = {},
  by: ApiClient = client,
  headers: Record<string, string> = {},
): Promise<ApiAnswer<VideoBody>> => by.request('POST', '/videos', videoOf(members), headers);
const look = (id: string, by: ApiClient = client): Promise<ApiAnswer<VideoBody>> => by.request('GET', `/videos/${id}`);
const accepted = async (members: Json = {}, by: ApiClient = client): Promise<VideoBody> => {
  const answer = await submit(members, by);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 });
  return answer.body;
};

function ended(id: string, withinMs = ENDED_MS): Promise<VideoBody> {
  return eventually(`${id} comes to its end`, withinMs, async () => {
    const { body } = await look(id);
    if (body.status !== 'pending' && body.status !== 'in_progress') return body;
    // A watcher must not use up what a workspace may read.
    return delay(100).then(() => undefined);
  });
}

const made = async (members: Json = {}): Promise<VideoBody> => ended((await accepted(members)).id);

interface Books {
  readonly hold: string;
  readonly charges: string[];
}

async function booksOf(id: string): Promise<Books> {
  const hold = await installation.database.firstRow<{ state: string }>({
    sql: 'SELECT state FROM ledger_holds WHERE id = $1',
    values: [id],
  });
  const charges = await installation.database.rows<{ amount: string }>({
    sql: `SELECT amount_usd::text AS amount FROM ledger_transfers WHERE reference = $1 AND kind = 'charge'`,
    values: [id],
  });
  return { hold: hold?.state ?? 'none', charges: charges.map(({ amount }) => amount) };
}

const drift = (): Promise<readonly unknown[]> => new LedgerRepository(installation.database).audit();
const countVideos = async (): Promise<number> =>
  (await installation.database.firstRow<{ n: number }>({ sql: 'SELECT count(*)::integer AS n FROM videos' }))!.n;

interface RawContent {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly bytes: Buffer;
}

function content(path: string, method = 'GET', headers: Record<string, string> = {}): Promise<RawContent> {
  const url = new URL(`${installation.baseUrl}/videos/${path}`);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      { method, headers: { authorization: `Bearer ${installation.seed.apiKey}`, ...headers } },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }),
        );
      },
    );
    sent.on('error', reject).end();
  });
}

describe('a video', () => {
  it('tells, while it is asked after, that the provider takes a key again that it had refused', async () => {
    const manager = installation.client(installation.seed.managementKey);
    const brought = await manager.request<{ data: { id: string } }>('POST', '/byok', {
      key: `key_${'c'.repeat(40)}`,
      provider: 'runway',
    });
    const { id } = brought.body.data;
    // For so long the gateway may go on with what it knows.
    await delay(1_500);
    const job = await accepted({ model: 'vid/own' });
    await eventually('it was submitted', 20_000, () =>
      upstream.requests.some(({ path, headers }) => path === '/own/v1/videos' && /key_c+$/.test(headers.authorization!))
        ? true
        : undefined,
    );
    await installation.database.execute({
      sql: `UPDATE credentials SET refusals = 1, last_error_status = 401, last_error_at = now() - interval '2 minutes',
              skipped_until = now() - interval '1 minute' WHERE id = $1`,
      values: [id],
    });
    const lastError = async (): Promise<unknown> =>
      (await manager.request<{ data: { last_error: unknown } }>('GET', `/byok/${id}`)).body.data.last_error;
    expect(await lastError()).toMatchObject({ status: 401 });
    await eventually('the key is known to be taken', 25_000, async () =>
      (await lastError()) === null ? true : undefined,
    );
    isOwnDone = true;
    expect(await ended(job.id)).toMatchObject({ status: 'completed', usage: { is_byok: true } });
    await manager.request('DELETE', `/byok/${id}`);
    await manager.close();
  });

  it('is submitted, asked after, kept and charged at the price of the catalogue', async () => {
    const job = await accepted({ model: 'vid/later', duration: 4, size: '1280x720' });
    expect(job).toEqual({ id: job.id, status: 'pending', polling_url: `/api/v1/videos/${job.id}` });
    expect(job.id).toMatch(/^gen-vid-\d+-[A-Za-z0-9]{20}$/);
    const video = await ended(job.id);
    expect(video).toMatchObject({ status: 'completed', generation_id: job.id, usage: { is_byok: false } });
    expect(amountOf(video.usage!.cost)).toBe(amountOf(SECOND_USD) * 4n);
    expect(video.unsigned_urls).toEqual([`${installation.baseUrl}/videos/${job.id}/content?index=0`]);
    expect(video.expires_at).toBeGreaterThan(Date.now() / 1_000 + 3_600);
    const books = await booksOf(job.id);
    expect(books.hold).toBe('resolved');
    expect(books.charges.map(amountOf)).toEqual([amountOf(SECOND_USD) * 4n]);
    const generation = await client.request<{ data: Json }>('GET', `/generation?id=${job.id}`);
    expect(generation.body.data).toMatchObject({ id: job.id, model: 'vid/later' });
    expect(await drift()).toEqual([]);
  });

  it('costs what its resolution costs, and reaches the provider with every default filled in', async () => {
    const video = await made({ resolution: '480p', aspect_ratio: '9:16', prompt: 'marked 480' });
    expect(amountOf(video.usage!.cost)).toBe(amountOf('0.001') * 2n);
    const sent = [...jobs.values()].find(({ body }) => body['prompt'] === 'marked 480')!;
    expect(sent.body).toEqual({
      model: 'upstream-vid-steady',
      prompt: 'marked 480',
      seconds: '2',
      size: '480x854',
    });
  });

  it('can be fetched whole, in parts, and asked about', async () => {
    const { id } = await made();
    const whole = await content(`${id}/content`);
    expect(whole).toMatchObject({ status: 200, headers: { 'content-type': 'video/mp4', 'accept-ranges': 'bytes' } });
    expect(whole.bytes.equals(CLIP)).toBe(true);
    const part = await content(`${id}/content?index=0`, 'GET', { range: 'bytes=4-11' });
    expect(part.status).toBe(206);
    expect(part.headers['content-range']).toBe(`bytes 4-11/${CLIP.length}`);
    expect(part.bytes.toString('latin1')).toBe('ftypisom');
    const tail = await content(`${id}/content`, 'GET', { range: 'bytes=-6' });
    expect(tail.bytes.equals(CLIP.subarray(-6))).toBe(true);
    const head = await content(`${id}/content`, 'HEAD');
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': String(CLIP.length) } });
    expect(head.bytes).toHaveLength(0);
    const beyond = await content(`${id}/content`, 'GET', { range: `bytes=${CLIP.length}-` });
    expect(beyond).toMatchObject({ status: 416, headers: { 'content-range': `bytes */${CLIP.length}` } });
    expect((await content(`${id}/content?index=1`)).status).toBe(400);
    expect((await content(`${id}/content?index=-1`)).status).toBe(400);
    expect((await content(`${id}/content?index=x`)).status).toBe(400);
  });

  it('is kept and charged when it came inside of an answer, too', async () => {
    const { id, usage } = await made({ model: 'vid/vertex' });
    expect(amountOf(usage!.cost)).toBe(amountOf(SECOND_USD) * 2n);
    const { status, bytes } = await content(`${id}/content`);
    expect([status, bytes.equals(CLIP)]).toEqual([200, true]);
  });

  it('is gone when its time is over', async () => {
    const { id } = await made();
    await installation.database.execute({
      sql: `UPDATE videos SET outputs_expire_at = now() - interval '1 second' WHERE id = $1`,
      values: [id],
    });
    expect((await content(`${id}/content`)).status).toBe(410);
    const { body } = await look(id);
    expect(body.status).toBe('completed');
    expect(body).not.toHaveProperty('expires_at');
    expect(body).not.toHaveProperty('unsigned_urls');
  });

  it('is made with the key of the provider in a header and nowhere else', async () => {
    await made();
    const sent = upstream.requests.filter(({ path }) => path.startsWith('/steady'));
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.every(({ headers }) => headers.authorization === `Bearer ${PROVIDER_KEY}`)).toBe(true);
    expect(sent.map(({ path, body }) => path + body).join()).not.toContain(PROVIDER_KEY);
    const rows = await installation.database.rows({ sql: 'SELECT row_to_json(videos)::text AS row FROM videos' });
    expect(JSON.stringify(rows)).not.toContain(PROVIDER_KEY);
  });

  it('goes on from an earlier one of the same model, at the same place', async () => {
    const first = await made();
    const next = await made({ previous_job_id: first.id, prompt: 'And flies off.' });
    expect(next.status).toBe('completed');
    const sent = upstream.requests.findLast(({ path }) => path.endsWith('/videos/extensions'))!;
    const { operation } = (await installation.database.firstRow<{ operation: { id: string } }>({
      sql: 'SELECT operation FROM videos WHERE id = $1',
      values: [first.id],
    }))!;
    expect(JSON.parse(sent.body)).toMatchObject({ video: { id: operation.id }, prompt: 'And flies off.' });
  });

  it('may name its model by an alias, also where it goes on from a job that did not', async () => {
    const first = await made();
    const next = await made({ model: 'steady-film', previous_job_id: first.id });
    const last = await made({ previous_job_id: next.id });
    expect([next.status, last.status]).toEqual(['completed', 'completed']);
    const rows = {
      sql: 'SELECT DISTINCT model FROM videos WHERE id = ANY($1)',
      values: [[first.id, next.id, last.id]],
    };
    expect(await installation.database.rows(rows)).toEqual([{ model: 'vid/steady' }]);
    expectRefusal(await submit({ model: 'flips-film', previous_job_id: first.id }), 400);
  });

  it('has the size of what it goes on from, and its price', async () => {
    const first = await made({ duration: 2, resolution: '480p' });
    const next = await made({ duration: 2, previous_job_id: first.id });
    const last = await made({ duration: 2, previous_job_id: next.id, resolution: '480p' });
    expect([first, next, last].map(({ usage }) => usage!.cost)).toEqual(['0.002', '0.002', '0.002']);
    for (const [param, value] of Object.entries({ resolution: '720p', aspect_ratio: '1:1', size: '1280x720' })) {
      const refused = await submit({ previous_job_id: first.id, [param]: value });
      expectRefusal(refused, 400);
      expect(refused.text).toContain(`"param":"${param}"`);
    }
  });

  it('owes its callback one event, under a name that stays', async () => {
    const { id } = await made({ callback_url: CALLBACK });
    const owed = await installation.database.rows<{ id: string; url: string; type: string; payload: Json }>({
      sql: 'SELECT id, url, type, payload FROM webhook_deliveries WHERE id LIKE $1',
      values: [`${id}%`],
    });
    expect(owed).toHaveLength(1);
    expect(owed[0]).toMatchObject({ id: `${id}-completed`, url: CALLBACK, type: 'video.generation.completed' });
    expect(owed[0]!.payload).toMatchObject({
      id,
      status: 'completed',
      generation_id: id,
      model: 'vid/steady',
      usage: { cost: 0.0246, is_byok: false },
    });
  });

  it.each([
    ['that the provider refuses', 'refuses', 'not this'],
    ['that the provider could not make', 'fails', 'It rained. [redacted]'],
    ['whose output is empty', 'no-output', 'The finished video could not be fetched from the provider'],
    ['whose output is a page', 'no-video', 'The finished video could not be fetched from the provider'],
  ])('%s is failed, and costs nothing', async (_case, name, error) => {
    const { id } = await accepted({ model: `vid/${name}`, callback_url: CALLBACK });
    const video = await ended(id);
    expect(video).toMatchObject({ status: 'failed', error });
    expect(video).not.toHaveProperty('usage');
    expect(await booksOf(id)).toEqual({ hold: 'resolved', charges: [] });
    expect((await content(`${id}/content`)).status).toBe(409);
    const owed = await installation.database.rows({
      sql: 'SELECT id FROM webhook_deliveries WHERE id LIKE $1',
      values: [`${id}%`],
    });
    expect(owed).toEqual([{ id: `${id}-failed` }]);
  });

  it('is submitted again after a refusal that means later', async () => {
    const video = await made({ model: 'vid/hiccups' });
    expect(video.status).toBe('completed');
    expect(hiccups).toBe(3);
  });

  it('is never submitted twice if it may have been accepted, and fails if no operator decides in time', async () => {
    const before = upstream.requests.length;
    const { id } = await accepted({ model: 'vid/silent' });
    const video = await ended(id);
    expect(video).toMatchObject({ status: 'failed', error: 'The provider did not say whether it took the job' });
    const sent = upstream.requests.slice(before).filter(({ path }) => path.startsWith('/silent'));
    expect(sent).toHaveLength(1);
    expect(await booksOf(id)).toEqual({ hold: 'resolved', charges: [] });
    expect(await drift()).toEqual([]);
  });

  it('is not taken for one of somebody else, and expires when its time is over', async () => {
    const { id } = await accepted({ model: 'vid/foreign' });
    const slow = await accepted({ model: 'vid/slow' });
    await eventually('both are asked after', 20_000, async () => {
      const row = await installation.database.firstRow<{ n: number }>({
        sql: `SELECT count(*)::integer AS n FROM videos WHERE id = ANY($1::text[]) AND attempts > 0 AND step = 'poll'`,
        values: [[id, slow.id]],
      });
      return row?.n === 2 ? true : undefined;
    });
    expect((await look(slow.id)).body).toMatchObject({ status: 'in_progress' });
    expect((await content(`${slow.id}/content`)).status).toBe(409);
    await installation.database.execute({
      sql: `UPDATE videos SET expires_at = now(), next_at = now() WHERE id = ANY($1::text[])`,
      values: [[id, slow.id]],
    });
    for (const each of [id, slow.id]) {
      expect(await ended(each)).toMatchObject({ status: 'expired', error: 'The provider took too long' });
      expect(await booksOf(each)).toEqual({ hold: 'resolved', charges: [] });
    }
  });

  it('stays what it became first', async () => {
    const { id } = await made({ model: 'vid/flips' });
    await installation.database.execute({
      sql: `UPDATE videos SET next_at = now() WHERE id = $1`,
      values: [id],
    });
    const again = await accepted({ model: 'vid/steady' });
    await ended(again.id);
    expect((await look(id)).body.status).toBe('completed');
  });
});

describe('a submission that is repeated under its Idempotency-Key', () => {
  it('is the same job, and another body is refused', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const before = await countVideos();
    const answers = await Promise.all([1, 2, 3, 4].map(() => submit({}, client, key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await countVideos()).toBe(before + 1);
    expectRefusal(await submit({ prompt: CANARY }, client, key), 422);
    expect((await submit({}, neighbour, key)).body.id).not.toBe(answers[0]!.body.id);
    expectRefusal(await submit({}, client, { 'idempotency-key': 'x'.repeat(256) }), 400);
  });
});

describe('money', () => {
  it('covers exactly as many videos as it is worth, however many are asked for at once', async () => {
    const answers = await Promise.all(Array.from({ length: 25 }, () => submit({}, poor.client)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(15);
    expectRefusal(
      answers.find(({ status }) => status === 402)!,
      402,
    );
    await eventually('all of them end', ENDED_MS, async () => {
      const row = await installation.database.firstRow<{ n: number }>({
        sql: 'SELECT count(*)::integer AS n FROM videos WHERE organization_id = $1 AND finished_at IS NULL',
        values: [poor.tenant.organizationId],
      });
      return row?.n === 0 ? true : undefined;
    });
    expect(await drift()).toEqual([]);
    const { balanceUsd, heldUsd } = await new LedgerRepository(installation.database).accountOf(
      poor.tenant.organizationId,
    );
    expect([amountOf(balanceUsd), amountOf(heldUsd)]).toEqual([0n, 0n]);
    expectRefusal(await submit({}, poor.client), 402);
  });
});

describe('a job of somebody else', () => {
  it('answers as one that never was', async () => {
    const { id } = await made();
    const unknown = 'gen-vid-1763715600-abcdefghijklmnopqrst';
    for (const by of [neighbour, poor.client]) {
      for (const path of ['', '/content']) {
        const foreign = await by.request('GET', `/videos/${id}${path}`);
        const never = await by.request('GET', `/videos/${unknown}${path}`);
        expectRefusal(foreign, 404);
        expect(foreign.text).toBe(never.text);
      }
      const taken = await submit({ previous_job_id: id }, by);
      const never = await submit({ previous_job_id: unknown }, by);
      expectRefusal(taken, 404);
      expect(taken.text).toBe(never.text);
    }
    expect((await content(`${id}/content`, 'GET', { authorization: '' })).status).toBe(401);
  });

  it.each(['gen-vid-1-short', '%00', '..%2f..%2fetc%2fpasswd', "' OR 1=1--", 'x'.repeat(900)])(
    'and %s is no job at all',
    async (id) => {
      const answer = await client.request('GET', `/videos/${encodeURI(id).replaceAll('%25', '%')}`);
      expectRefusal(answer, 404);
    },
  );
});

describe('the models that make videos', () => {
  it('are listed with what they can do', async () => {
    const { status, body } = await client.request<{ data: Json[] }>('GET', '/videos/models');
    expect(status).toBe(200);
    expect(body.data).toHaveLength(Object.keys(BEHAVIOURS).length);
    expect(body.data[0]).toMatchObject({
      id: 'vid/steady',
      supported_durations: [2, 4],
      supported_resolutions: ['480p', '720p'],
      supported_sizes: null,
      supported_frame_images: ['first_frame'],
      pricing_skus: { video_second: SECOND_USD, video_second_480p: '0.001' },
      upscale_factor: null,
      creativity: null,
    });
  });
});

const image = (url: unknown, more: Json = {}): Json => ({
  frame_images: [{ type: 'image_url', image_url: { url }, frame_type: 'first_frame', ...more }],
});
const png = (width: number, height: number): string => {
  const header = Buffer.alloc(24);
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).copy(header);
  header.writeUInt32BE(13, 8);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return `data:image/png;base64,${header.toString('base64')}`;
};
const inline = (text: string): string => `data:image/png;base64,${Buffer.from(text).toString('base64')}`;

describe('a first frame', () => {
  it('in the request reaches the provider as it is', async () => {
    await made({ ...image(png(640, 480)), prompt: 'marked frame' });
    const sent = [...jobs.values()].find(({ body }) => body['prompt'] === 'marked frame')!;
    expect(sent.body['input_reference']).toEqual({ image_url: png(640, 480) });
    const rows = await installation.database.rows({
      sql: "SELECT id FROM videos WHERE request IS NOT NULL AND step = 'poll'",
    });
    expect(rows).toEqual([]);
  });
});

describe('a form, as clients of OpenAI send it', () => {
  const url = (): string => `${installation.baseUrl}/videos`;
  const headers = (): Record<string, string> => ({ authorization: `Bearer ${installation.seed.apiKey}` });
  const picture = (side: number): Blob => new Blob([Buffer.from(png(side, side).split(',')[1]!, 'base64')]);
  const formOf = (fields: Record<string, string | Blob>): FormData => {
    const form = new FormData();
    const asked = { model: 'vid/steady', prompt: 'A heron lands.', seconds: '2', ...fields };
    for (const [name, value] of Object.entries(asked)) form.append(name, value);
    return form;
  };
  const send = (body: FormData | Blob): Promise<Response> => fetch(url(), { method: 'POST', headers: headers(), body });

  it('with a picture reaches the provider as the same request in JSON', async () => {
    const answer = await send(formOf({ prompt: 'a form', size: '1280x720', input_reference: picture(640) }));
    expect(answer.status).toBe(202);
    await ended(((await answer.json()) as VideoBody).id);
    await made({ ...image(png(640, 640)), prompt: 'no form', size: '1280x720' });
    const [form, json] = ['a form', 'no form'].map(
      (prompt) => [...jobs.values()].find(({ body }) => body['prompt'] === prompt)!.body,
    );
    expect({ ...form, prompt: '' }).toEqual({ ...json, prompt: '' });
  });

  it.each<[string, Record<string, string | Blob>, number, string]>([
    ['seconds the model cannot', { seconds: '3' }, 400, 'seconds'],
    ['seconds in words', { seconds: CANARY }, 400, 'seconds'],
    ['a size that is none', { size: 'wide' }, 400, 'size'],
    ['a picture that is none', { input_reference: new Blob([CANARY]) }, 400, 'input_reference'],
    ['a picture of one point', { input_reference: picture(1) }, 400, 'input_reference'],
    ['a picture of 21 MB', { input_reference: new Blob([new Uint8Array(21 * 2 ** 20)]) }, 413, 'input_reference'],
    ['a picture in another field', { image: picture(640) }, 400, 'form'],
    ['a file of a file API', { 'input_reference[file_id]': CANARY }, 400, 'input_reference'],
  ])('with %s is refused by name', async (_case, fields, status, name) => {
    const videos = await countVideos();
    const answer = await send(formOf(fields));
    const { error } = (await answer.json()) as { error: { code: number; message: string } };
    expect([answer.status, error.code]).toEqual([status, status]);
    expect(error.message).toContain(name);
    expect(error.message).not.toContain(CANARY);
    expect(await countVideos()).toBe(videos);
  });
});

describe('bad input', () => {
  const refused: readonly (readonly [string, Json, number])[] = [
    ['no model', { model: undefined }, 400],
    ['an unknown model', { model: 'vid/nothing' }, 400],
    ['a model that makes no videos', { model: 'vid/chat' }, 400],
    ['no prompt', { prompt: undefined }, 400],
    ['an empty prompt', { prompt: '' }, 400],
    ['a prompt of a megabyte', { prompt: 'x'.repeat(1024 * 1024) }, 400],
    ['a prompt with a zero', { prompt: 'a\u0000b' }, 400],
    ...['5:4', '16/9', 1.77].map((value) => [`aspect ratio ${value}`, { aspect_ratio: value }, 400] as const),
    ['an aspect ratio the model has not', { aspect_ratio: '21:9' }, 400],
    ...[0, -1, 1.5, '8', 1e9, 3].map((value) => [`duration ${value}`, { duration: value }, 400] as const),
    ...['8K', '720', '720P', '4K'].map((value) => [`resolution ${value}`, { resolution: value }, 400] as const),
    ...['0x0', '-1x5', '1280X720', '1280×720', '1e9x1e9', '1280x720x1', '1281x721', '1920x1080'].map(
      (value) => [`size ${value}`, { size: value }, 400] as const,
    ),
    ['a size of another resolution', { size: '1280x720', resolution: '480p' }, 400],
    ['a size of another ratio', { size: '1280x720', aspect_ratio: '9:16' }, 400],
    ['generate_audio as text', { generate_audio: 'yes' }, 400],
    ['generate_audio the model cannot', { generate_audio: true }, 400],
    ['a seed the model does not take', { seed: 7 }, 400],
    ['a seed that is none', { seed: -1 }, 400],
    ...['gen-vid-1-abcdefghijklmnopqrs', 'gen-vid-1-abcdefghijklmnopqrstu', 'gen-1-abcdefghijklmnopqrst', 7].map(
      (value) => [`previous_job_id ${value}`, { previous_job_id: value }, 400] as const,
    ),
    ['an unknown previous_job_id', { previous_job_id: 'gen-vid-1763715600-abcdefghijklmnopqrst' }, 404],
    ...[
      'http://receiver.example.com/',
      'receiver.example.com',
      `https://user:${CANARY}@receiver.example.com/`,
      'https://receiver.example.com/#part',
      'https://93.184.216.34/',
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://localhost/',
      'https://receiver.example.com:22/',
      'https://①②⑦.⓪.⓪.①/',
      'javascript:alert(1)',
      'https:\\\\receiver.example.com',
      `https://receiver.example.com/${'x'.repeat(10_240)}`,
      7,
    ].map((value) => [`callback ${String(value).slice(0, 40)}`, { callback_url: value }, 400] as const),
    ['frames that are no array', { frame_images: {} }, 400],
    ['a frame of an unknown type', image(png(100, 100), { frame_type: 'middle_frame' }), 400],
    [
      'two first frames',
      { frame_images: [image(png(99, 99)), image(png(99, 99))].flatMap((one) => one['frame_images']) },
      400,
    ],
    ['a last frame the model cannot', image(png(100, 100), { frame_type: 'last_frame' }), 400],
    ['a hundred frames', { frame_images: Array.from({ length: 100 }, () => ({})) }, 400],
    ['a frame without a link', image(7), 400],
    ['a frame by http', image('http://pictures.example.com/a.png'), 400],
    ['a frame on this machine', image('https://127.0.0.1/a.png'), 400],
    ['a frame in a file', image('file:///etc/passwd'), 400],
    ['a frame with credentials', image(`https://a:${CANARY}@pictures.example.com/a.png`), 400],
    ['a frame in broken base64', image('data:image/png;base64,iVBORw0KGg'), 400],
    ['a frame in no base64', image('data:image/png,abc'), 400],
    ['a vector picture as png', image(inline('<svg xmlns="http://www.w3.org/2000/svg"/>')), 400],
    ['a page as png', image(inline('<html></html>')), 400],
    ['an archive as png', image(inline('PK\u0003\u0004')), 400],
    ['a picture of one point', image(png(1, 1)), 400],
    ['a picture of 50,000 points', image(png(50_000, 50_000)), 400],
    ['a picture with a broken header', image(png(0, 0)), 400],
    ['a picture of 24 MB', image(`data:image/png;base64,${'A'.repeat(32_000_000)}`), 413],
    [
      'references the model cannot',
      { input_references: [{ type: 'audio_url', audio_url: { url: 'https://a.example' } }] },
      400,
    ],
    ['references of no kind', { input_references: [{ type: 'text' }] }, 400],
    ['a key for the provider', { provider: { options: { 'vid-steady': { api_key: CANARY } } } }, 400],
    [
      'a webhook for the provider',
      { provider: { options: { 'vid-steady': { webhook_url: 'https://x.example' } } } },
      400,
    ],
    [
      'a link in options that leads inside',
      { provider: { options: { 'vid-steady': { style: 'http://169.254.169.254/latest' } } } },
      400,
    ],
    ...[1.5, 2 ** 63, -1, '1'].map((value) => [`seed ${value}`, { seed: value }, 400] as const),
    ...[0, -1, 'NaN', 2].map((value) => [`upscale_factor ${value}`, { upscale_factor: value }, 400] as const),
    ['creativity on a model that generates', { creativity: 3 }, 400],
    ['a long session', { session_id: 'x'.repeat(257) }, 400],
    ['a long user', { user: 'x'.repeat(257) }, 400],
    ['a trace that is none', { trace: 7 }, 400],
    ['a wish that nothing is kept', { provider: { zdr: true } }, 404],
    ['a provider that is none', { provider: { only: ['nobody'] } }, 404],
  ];

  it.each(refused)('%s is refused', async (_case, members, status) => {
    const [calls, videos] = [
      upstream.requests.filter(({ path }) => path.startsWith('/steady')).length,
      await countVideos(),
    ];
    const answer = await submit(members);
    expectRefusal(answer, status);
    expect(await countVideos()).toBe(videos);
    expect(upstream.requests.filter(({ path }) => path.startsWith('/steady'))).toHaveLength(calls);
  });

  it('asked for too often is refused for a while', async () => {
    const unknown = '/videos/gen-vid-1763715600-abcdefghijklmnopqrst';
    const answers = await Promise.all(Array.from({ length: 500 }, () => poor.client.request('GET', unknown)));
    const refusals = answers.filter(({ status }) => status === 429);
    expect(refusals.length).toBeGreaterThan(20);
    expectRefusal(refusals[0]!, 429);
    expect(refusals[0]!.headers['retry-after']).toMatch(/^\d+$/);
  });
});
