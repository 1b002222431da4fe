import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/**
 * What video jobs must survive: a worker that is killed every three seconds, whatever it is doing, and a provider that
 * fails now and then. Afterwards: no job was paid for twice, each has one end, one charge or none, and one event.
 *
 * `SLUICE_CHAOS=full` runs the long form: 200 jobs.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const JOBS = FULL ? 200 : 40;
const KILLS = FULL ? 40 : 6;
const KILL_EVERY_MS = 3_000;
const LEASE_MS = 30_000;
const MARGIN_MS = 90_000;
const BOOT_TIMEOUT_MS = 150_000;
/** Long enough that kills strike between the provider's yes and our writing it down. */
const SUBMISSION_MS = 400;
const PRICE_USD = '0.01';
const SECONDS = 2;
const CALLBACK = 'https://receiver.example.com/hook';

const CLIP = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(2_036, 7)]);

interface UpstreamJob {
  readonly id: string;
  /** Our id, as it came with the submission. */
  readonly reference: string;
  polls: number;
}

/** A provider that counts what it would bill. */
class BilledVideos {
  readonly jobs = new Map<string, UpstreamJob>();
  readonly #byReference = new Map<string, UpstreamJob>();
  #answers = 0;

  constructor(private readonly knowsReferences: boolean) {}

  answer(response: ServerResponse, { path, method, headers }: ReceivedRequest): void {
    if (method === 'POST') return this.#submit(response, String(headers['idempotency-key']));
    const [, id = '', rest] = /\/videos\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    const job = this.jobs.get(id);
    if (!job) return send(response, 404, { error: { message: 'No such video' } });
    if (rest === 'content') return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(CLIP);
    job.polls += 1;
    this.#answers += 1;
    if (this.#answers % 7 === 0) return send(response, 503, { error: { message: 'Out of order' } });
    send(response, 200, { id, status: job.polls < 2 ? 'in_progress' : 'completed' });
  }

  /** How many jobs were made for each of our ids. */
  paidFor(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { reference } of this.jobs.values()) counts.set(reference, (counts.get(reference) ?? 0) + 1);
    return counts;
  }

  #submit(response: ServerResponse, reference: string): void {
    const known = this.knowsReferences ? this.#byReference.get(reference) : undefined;
    const job = known ?? { id: `video_${this.jobs.size}`, reference, polls: 0 };
    this.jobs.set(job.id, job);
    this.#byReference.set(reference, job);
    // It is billed from here on, whoever hears the answer.
    setTimeout(() => send(response, 200, { id: job.id, status: 'queued' }), SUBMISSION_MS);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const providers = { keyed: new BilledVideos(true), plain: new BilledVideos(false) };
type Name = keyof typeof providers;

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

function catalogue(): string {
  const models = Object.keys(providers).map((name) => ({
    slug: `film/${name}`,
    provider: `film-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    apis: ['video'],
    pricing: { prompt: '0', completion: '0' },
  }));
  const parsed = JSON.parse(catalogueOf(models)) as {
    models: { slug: string; endpoints: { pricing: object; capabilities: object }[] }[];
  };
  for (const { slug, endpoints } of parsed.models) {
    endpoints[0]!.pricing = { video_second: PRICE_USD };
    endpoints[0]!.capabilities = { video: { idempotent_submit: slug === 'film/keyed' } };
  }
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => providers[request.path.split('/')[1] as Name].answer(response, request);
  installation = await Installation.start({
    catalogue: catalogue(),
    environment: { VIDEO_SUBMISSIONS_PER_MINUTE: '100000', VIDEO_CONCURRENCY: '4' },
  });
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
}, BOOT_TIMEOUT_MS);

async function submit(name: Name): Promise<string> {
  const body = { model: `film/${name}`, prompt: 'A heron lands.', duration: SECONDS, callback_url: CALLBACK };
  const answer = await client.request<{ id: string }>('POST', '/videos', body);
  expect(answer.status).toBe(202);
  return answer.body.id;
}

interface Ended {
  readonly id: string;
  readonly model: string;
  readonly status: string;
  readonly needs_review: boolean;
  readonly cost: string | null;
  readonly hold: string;
  readonly charges: string[];
  readonly events: string[];
}

const open = async (): Promise<number> =>
  (await installation.database.firstRow<{ n: number }>({
    sql: 'SELECT count(*)::integer AS n FROM videos WHERE finished_at IS NULL',
  }))!.n;

const ends = (): Promise<Ended[]> =>
  installation.database.rows<Ended>({
    sql: `
      SELECT v.id, v.model, v.status, v.needs_review, v.cost_usd::text AS cost, h.state AS hold,
        (SELECT coalesce(json_agg(t.amount_usd::text), '[]') FROM ledger_transfers t
          WHERE t.reference = v.id AND t.kind = 'charge') AS charges,
        (SELECT coalesce(json_agg(w.id), '[]') FROM webhook_deliveries w WHERE w.id LIKE v.id || '-%') AS events
      FROM videos v JOIN ledger_holds h ON h.id = v.id`,
  });

describe('video jobs', () => {
  it(
    'survive a worker that dies every three seconds, and none is paid for twice',
    async () => {
      const submitted = [];
      for (let n = 0; n < JOBS; n += 1) submitted.push(await submit(n % 4 === 0 ? 'plain' : 'keyed'));

      let kills = 0;
      while (kills < KILLS && (await open()) > 0) {
        await delay(KILL_EVERY_MS);
        await eventually('the worker is back', MARGIN_MS, async () => {
          try {
            await installation.kill9('video-worker');
            return true;
          } catch {
            return undefined;
          }
        });
        kills += 1;
      }
      await eventually('every job ends', LEASE_MS * 3 + MARGIN_MS, async () =>
        (await open()) === 0 ? true : undefined,
      );

      const all = await ends();
      expect(all.map(({ id }) => id).toSorted()).toEqual(submitted.toSorted());
      for (const provider of Object.values(providers)) {
        expect([...provider.paidFor()].filter(([, count]) => count > 1)).toEqual([]);
      }
      const price = amountOf(PRICE_USD) * BigInt(SECONDS);
      for (const { id, status, charges, events, hold, needs_review: isInReview } of all) {
        expect(events).toEqual([`${id}-${status}`]);
        expect({ id, charges: charges.map(amountOf) }).toEqual({ id, charges: status === 'completed' ? [price] : [] });
        expect({ id, hold }).toEqual({ id, hold: isInReview ? 'open' : 'resolved' });
        expect(['completed', 'failed']).toContain(status);
      }
      // Where the provider knows repetitions, not a single job is lost.
      expect(all.filter(({ model, status }) => model === 'film/keyed' && status !== 'completed')).toEqual([]);
      // Elsewhere those are given up, to a person, of which nobody knows.
      expect(all.filter(({ status, needs_review: isInReview }) => (status === 'failed') !== isInReview)).toEqual([]);
      expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
      const reviewed = all.filter(({ needs_review: isInReview }) => isInReview).length;
      process.stderr.write(`      ${kills} kills, ${JOBS} jobs, ${reviewed} of them in review, none paid for twice\n`);
    },
    KILLS * (KILL_EVERY_MS + MARGIN_MS) + 3 * LEASE_MS + MARGIN_MS,
  );
});
