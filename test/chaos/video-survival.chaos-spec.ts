import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository, OutboxRepository, WebhookDeliveriesRepository } from '@libs/persistence';
import { WebhookReceiver } from '../support/webhook-receiver';
import { BilledVideos, isGone, PROTOCOLS, promptOf, RECALLS, type Recall } from '../support/billed-videos';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { VideoDeaths } from '../support/video-deaths';

/**
 * S18: what video jobs must survive. A worker that dies every three seconds, whatever it is doing, and at the three
 * moments that matter: after the provider took a job and before its id is written down (F15), after a film was
 * fetched and before it is kept (F16), after an event was sent and before that is noted (F17). And a provider that
 * refuses, fails, answers nothing and loses films. Afterwards no job was paid for twice, each is over, has one charge
 * or none, and was announced under one id.
 *
 * `SLUICE_CHAOS=full` runs the long form: 200 jobs, and each moment fifty times.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const JOBS = FULL ? 200 : 40;
const DEATHS = FULL
  ? { submitted: 50, fetched: 50, announced: 50, clock: 40 }
  : { submitted: 6, fetched: 5, announced: 5, clock: 4 };
const PATIENCE_MS = FULL ? 1_800_000 : 240_000;
const BOOT_TIMEOUT_MS = 240_000;
const PRICE_USD = '0.01';
/** After so many deaths a submission is not repeated any more, even where that would be no second job. */
const MOST_REPETITIONS = 30;
const SECONDS = 2;

let upstream: FakeUpstream;
let receiver: WebhookReceiver;
let installation: Installation;
let client: ApiClient;
let deaths: VideoDeaths;
let providers: Readonly<Record<Recall, BilledVideos>>;

function catalogue(): string {
  const models = RECALLS.map((recall) => ({
    slug: `film/${recall}`,
    provider: `film-${recall}`,
    protocol: PROTOCOLS[recall],
    baseUrl: `${upstream.origin}/${recall}/v1`,
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
  [upstream, receiver] = await Promise.all([FakeUpstream.start(), WebhookReceiver.start()]);
  installation = await Installation.start({
    catalogue: catalogue(),
    environment: {
      VIDEO_SUBMISSIONS_PER_MINUTE: '100000',
      VIDEO_CONCURRENCY: '8',
      VIDEO_REVIEW_SECONDS: '5',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: receiver.certificateFile,
    },
  });
  deaths = new VideoDeaths(installation, DEATHS);
  const [keyed, listed, plain] = RECALLS.map((recall) => new BilledVideos(recall, deaths));
  providers = { keyed: keyed!, listed: listed!, plain: plain! };
  upstream.behaviour = (response, request) => providers[request.path.split('/')[1] as Recall].answer(response, request);
  receiver.beforeAnswer = ({ headers }) => deaths.announced(String(headers['webhook-id']));
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  deaths?.stop();
  await client?.close();
  await installation?.stop();
  await Promise.all([upstream?.close(), receiver?.stop()]);
}, BOOT_TIMEOUT_MS);

async function submit(number: number): Promise<string> {
  const model = `film/${RECALLS[number % RECALLS.length]!}`;
  const body = { model, prompt: promptOf(number), duration: SECONDS, callback_url: receiver.url() };
  const answer = await client.request<{ id: string }>('POST', '/videos', body);
  expect(answer.status).toBe(202);
  return answer.body.id;
}

interface Ended {
  readonly id: string;
  readonly recall: Recall;
  readonly status: string;
  readonly needs_review: boolean;
  readonly attempts: number;
  readonly hold: string;
  readonly charges: string[];
}

/** An event that its worker died of ten times is given up; an operator then sends it again, under its id. */
async function redeliver(): Promise<void> {
  const deliveries = new WebhookDeliveriesRepository(
    installation.database,
    new OutboxRepository(installation.database),
  );
  const givenUp = await deliveries.list({ state: 'given up', workspaceId: null, limit: JOBS });
  for (const { id } of givenUp) await deliveries.redeliver(id);
}

const isQuiet = async (): Promise<boolean> =>
  (await installation.database.firstRow<{ n: number }>({
    sql: `SELECT (SELECT count(*) FROM videos WHERE finished_at IS NULL)::integer
               + (SELECT count(*) FROM webhook_deliveries WHERE delivered_at IS NULL)::integer AS n`,
  }))!.n === 0;

const ends = (): Promise<Ended[]> =>
  installation.database.rows<Ended>({
    sql: `
      SELECT v.id, substr(v.model, 6) AS recall, v.status, v.needs_review, v.attempts, h.state AS hold,
        (SELECT coalesce(json_agg(t.amount_usd::text), '[]') FROM ledger_transfers t
          WHERE t.reference = v.id AND t.kind = 'charge') AS charges
      FROM videos v JOIN ledger_holds h ON h.id = v.id`,
  });

/** The ids under which each job was announced, and the state in each event. */
function announcements(): Map<string, Set<string>> {
  const told = new Map<string, Set<string>>();
  for (const { headers, text } of receiver.events) {
    const { data } = JSON.parse(text) as { data: { id: string; status: string } };
    const events = told.get(data.id) ?? new Set();
    told.set(data.id, events.add(`${String(headers['webhook-id'])} ${data.status}`));
  }
  return told;
}

describe('video jobs', () => {
  it(
    'survive every death of their worker, and none is paid for twice',
    async () => {
      const prompts = new Map<string, string>();
      for (let n = 0; n < JOBS; n += 1) prompts.set(await submit(n), promptOf(n));
      deaths.start();
      await eventually('every job is over and announced', PATIENCE_MS, async () => {
        await redeliver();
        return (await isQuiet()) ? true : undefined;
      });
      deaths.stop();

      const all = await ends();
      const told = announcements();
      expect(all.map(({ id }) => id).toSorted()).toEqual([...prompts.keys()].toSorted());
      const paid = new Map(RECALLS.flatMap((recall) => [...providers[recall].paidFor()]));
      expect([...paid].filter(([, count]) => count > 1)).toEqual([]);
      const price = amountOf(PRICE_USD) * BigInt(SECONDS);
      for (const { id, status, charges, hold } of all) {
        expect([id, ...(told.get(id) ?? [])]).toEqual([id, `${id}-${status} ${status}`]);
        expect({ id, charges: charges.map(amountOf) }).toEqual({ id, charges: status === 'completed' ? [price] : [] });
        expect({ id, hold }).toEqual({ id, hold: 'resolved' });
      }
      expect(told.size).toBe(JOBS);
      expect(all.filter((end) => !isExpected(end, prompts.get(end.id)!, paid.has(end.id)))).toEqual([]);
      expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
      expect(deaths.missed()).toEqual([]);
      const reviewed = all.filter(({ needs_review: wasInReview }) => wasInReview).length;
      const failed = all.filter(({ status }) => status === 'failed').length;
      process.stderr.write(
        `      ${JSON.stringify(deaths.hits)} deaths, ${JOBS} jobs, ${failed} failed, ${reviewed} of them after a review, ` +
          `${receiver.events.length} events received, none paid for twice\n`,
      );
    },
    PATIENCE_MS + BOOT_TIMEOUT_MS,
  );
});

/**
 * A job whose film is gone fails. Another one fails only where nobody could know whether it was taken: of the
 * provider that can be searched, one which never reached it; of the one that knows repetitions, one that was given up.
 */
function isExpected(ended: Ended, prompt: string, isPaid: boolean): boolean {
  const { recall, status, needs_review: wasInReview, attempts } = ended;
  if (status === 'completed') return !isGone(prompt);
  if (status !== 'failed') return false;
  if (!wasInReview) return isGone(prompt);
  if (recall === 'keyed') return attempts >= MOST_REPETITIONS;
  return recall === 'plain' || !isPaid;
}
