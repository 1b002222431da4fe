import { promptHash } from '../../tools/sandbox-provider/src/answers/answer';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';

/**
 * Providers that take a job and whose answer is lost: one that knows repetitions, one whose list can be searched, and
 * one with neither, where a person has to look. All three are the sandbox provider.
 */

const BOOT_TIMEOUT_MS = 240_000;
const PATIENCE_MS = 60_000;
const CALLBACK = 'https://receiver.example.com/hook';

interface VideoBody {
  readonly id: string;
  readonly status: string;
  readonly error?: string;
}

interface Row {
  readonly step: string;
  readonly needs_review: boolean;
  readonly hold: string;
  readonly charges: number;
  readonly events: string[];
}

let sandbox: Sandbox;
let installation: Installation;
let client: ApiClient;
let operator: Operator;
let prompts = 0;

const MODELS: Readonly<Record<string, { readonly protocol: string; readonly upstreamModel: string; can: object }>> = {
  keyed: { protocol: 'openai', upstreamModel: 'keyed?reset=1&fail_times=1', can: { idempotent_submit: true } },
  listed: { protocol: 'byteplus', upstreamModel: 'listed?reset=1', can: {} },
  unknown: { protocol: 'openai', upstreamModel: 'unknown?cut_after=1', can: {} },
};

function catalogue(): string {
  const models = Object.entries(MODELS).map(([name, { protocol, upstreamModel }]): TestModel => ({
    slug: `film/${name}`,
    provider: `film-${name}`,
    baseUrl: `${sandbox.url}/v1`,
    protocol,
    apis: ['video'],
    upstreamModel,
    pricing: { prompt: '0', completion: '0' },
  }));
  const parsed = JSON.parse(catalogueOf(models)) as {
    models: { slug: string; endpoints: { pricing: object; capabilities: object }[] }[];
  };
  for (const { slug, endpoints } of parsed.models) {
    endpoints[0]!.pricing = { video_second: '0.01' };
    endpoints[0]!.capabilities = { video: { durations: [2], ...MODELS[slug.slice('film/'.length)]!.can } };
  }
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  sandbox = await startSandbox({ record: true, videoMs: 200 });
  installation = await shareInstallation({
    apps: ['auth', 'gateway', 'video-worker'],
    catalogue: catalogue(),
  });
  client = installation.client();
  operator = new Operator(installation);
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await sandbox?.close();
}, BOOT_TIMEOUT_MS);

afterEach(async () => expect(await new LedgerRepository(installation.database).audit()).toEqual([]));

async function submit(model: string): Promise<{ readonly id: string; readonly made: () => number }> {
  const prompt = `Heron ${(prompts += 1)} lands.`;
  const answer = await client.request<VideoBody>('POST', '/videos', { model, prompt, callback_url: CALLBACK });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 });
  return { id: answer.body.id, made: () => sandbox.calls().by_prompt[promptHash(prompt)] ?? 0 };
}

const look = async (id: string): Promise<VideoBody> => (await client.request<VideoBody>('GET', `/videos/${id}`)).body;

const ended = (id: string): Promise<VideoBody> =>
  eventually(`${id} ends`, PATIENCE_MS, async () => {
    const body = await look(id);
    return body.status === 'pending' || body.status === 'in_progress' ? undefined : body;
  });

const rowOf = async (id: string): Promise<Row> =>
  (await installation.database.firstRow<Row>({
    sql: `SELECT v.step, v.needs_review, h.state AS hold,
            (SELECT count(*)::integer FROM ledger_transfers t WHERE t.reference = v.id AND t.kind = 'charge') AS charges,
            (SELECT coalesce(json_agg(w.id), '[]') FROM webhook_deliveries w WHERE w.id LIKE v.id || '-%') AS events
          FROM videos v JOIN ledger_holds h ON h.id = v.id WHERE v.id = $1`,
    values: [id],
  }))!;

async function inReview(): Promise<{ readonly id: string; readonly made: () => number }> {
  const video = await submit('film/unknown');
  await eventually(`${video.id} is in review`, PATIENCE_MS, async () =>
    (await rowOf(video.id)).needs_review ? true : undefined,
  );
  return video;
}

/** What an operator would see in the provider's console: its newest job. */
async function newestAtProvider(): Promise<string> {
  const answer = await fetch(`${sandbox.url}/v1/videos`);
  return ((await answer.json()) as { data: { id: string }[] }).data[0]!.id;
}

describe('a job whose answer is lost', () => {
  it('is submitted again where its key is known, and made and paid for once', async () => {
    const { id, made } = await submit('film/keyed');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    expect(made()).toBe(1);
    expect(await rowOf(id)).toMatchObject({ hold: 'resolved', charges: 1, events: [`${id}-completed`] });
  });

  it('is found again where the list tells whose it is, and never submitted a second time', async () => {
    const { id, made } = await submit('film/listed');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    expect(made()).toBe(1);
    expect(sandbox.calls().by_route['POST /v1/contents/generations/tasks']).toBe(1);
    expect(await rowOf(id)).toMatchObject({ hold: 'resolved', charges: 1 });
  });

  it('waits for a person elsewhere, with its money, and is not tried again', async () => {
    const { id, made } = await inReview();
    expect(await look(id)).toEqual(expect.objectContaining({ id, status: 'pending' }));
    expect(made()).toBe(1);
    expect(await rowOf(id)).toEqual({ step: 'submitting', needs_review: true, hold: 'open', charges: 0, events: [] });
    const listed = await operator.runHere<{ id: string; provider: string }[]>('videos', 'in-review');
    expect(listed).toContainEqual(expect.objectContaining({ id, provider: 'film-unknown' }));
    await operator.runHere('videos', 'resolve', id, '--failed');
    await ended(id);
  });
});

describe('an operator who looked at the provider', () => {
  it('names the job there, which then ends like any other', async () => {
    const { id, made } = await inReview();
    await operator.runHere('videos', 'resolve', id, '--submitted', await newestAtProvider());
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    expect(made()).toBe(1);
    expect(await rowOf(id)).toMatchObject({
      needs_review: false,
      hold: 'resolved',
      charges: 1,
      events: [`${id}-completed`],
    });
    await expect(operator.runHere('videos', 'resolve', id, '--failed')).rejects.toThrow('not in review');
  });

  it('fails the job, which costs nothing and is told', async () => {
    const { id } = await inReview();
    await operator.runHere('videos', 'resolve', id, '--failed');
    expect(await ended(id)).toMatchObject({
      status: 'failed',
      error: 'The provider did not say whether it took the job',
    });
    expect(await rowOf(id)).toMatchObject({ hold: 'resolved', charges: 0, events: [`${id}-failed`] });
    const trail = await installation.database.rows({
      sql: 'SELECT action, key_id, operator IS NOT NULL AS named, status FROM audit_entries WHERE target = $1',
      values: [id],
    });
    expect(trail).toEqual([{ action: 'sluice videos resolve --failed', key_id: null, named: true, status: 200 }]);
  });

  it('cannot give one job of the provider to two', async () => {
    const first = await inReview();
    const upstreamId = await newestAtProvider();
    const second = await inReview();
    await operator.runHere('videos', 'resolve', first.id, '--submitted', upstreamId);
    await expect(operator.runHere('videos', 'resolve', second.id, '--submitted', upstreamId)).rejects.toThrow(
      'another video',
    );
    expect(await rowOf(second.id)).toMatchObject({ needs_review: true, hold: 'open' });
    await operator.runHere('videos', 'resolve', second.id, '--failed');
    await Promise.all([ended(first.id), ended(second.id)]);
  });
});
