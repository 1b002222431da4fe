import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { hashApiKey } from '@libs/contracts';
import { FAILPOINTS, type Failpoint } from '@libs/failpoints';
import { GenerationsRepository, LedgerRepository } from '@libs/persistence';
import { IdentityIssuer } from '../e2e/identity-issuer';
import { BatchRun, type BatchPlan } from '../support/batch-run';
import { RECALLS, type Recall } from '../support/billed-videos';
import { chatRequests, linesOf } from '../support/batch-lines';
import { findViolations, repeatedAnswers } from '../support/checker';
import type { ApiAnswer, ApiClient, BatchBody } from '../support/client';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { buildWithFailpoints, FailpointDeaths, type Death } from '../support/failpoint-deaths';
import { FailpointProviders } from '../support/failpoint-providers';
import { Installation, type AppName } from '../support/installation';
import { Operator } from '../support/operator';
import { WebhookReceiver } from '../support/webhook-receiver';

/**
 * Every failpoint of docs/failpoints.md: an app dies there, comes back, and afterwards nothing is lost, doubled or
 * billed twice, and no money is held for what is over.
 *
 * The short form takes each app through all of its failpoints, one death after another. `SLUICE_CHAOS=full` runs the
 * long form: each failpoint alone, fifty times.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const HITS = 50;
const LINES = FULL ? 150 : 40;
/** Of batches, until one of their messages is relayed by the gateway. */
const MOST_SUBMISSIONS = 20;
const END_MS = 90_000;
const BOOT_TIMEOUT_MS = 240_000;
const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const VIDEO_USD = '0.01';
const SECONDS = 2;
const CLAIMS = { sub: 'workload', aud: 'sluice' };
const CALLS = ['call-covered', 'stream-begun', 'call-answered'] as const;

/** What dies, and how to see afterwards that no harm was done. */
interface Ordeal {
  readonly app: AppName;
  /** In this order. */
  readonly deaths: readonly Death[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly verify: () => Promise<void>;
}

let build: string;
let providers: FailpointProviders;
let receiver: WebhookReceiver;
let issuer: IdentityIssuer;
let installation: Installation;
let deaths: FailpointDeaths;
let client: ApiClient;
let manager: ApiClient;

beforeAll(async () => {
  build = buildWithFailpoints();
  [providers, receiver, issuer] = await Promise.all([
    FailpointProviders.start(),
    WebhookReceiver.start(),
    IdentityIssuer.start(),
  ]);
  const egress = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8' };
  const limits = ['BATCH_SUBMISSIONS', 'BATCH_READS', 'VIDEO_SUBMISSIONS', 'TOKEN_EXCHANGES', 'MANAGEMENT_REQUESTS'];
  installation = await Installation.start({
    build,
    catalogue: providers.catalogue(CALLS, PRICES, VIDEO_USD),
    environment: {
      ...Object.fromEntries(limits.map((name) => [`${name}_PER_MINUTE`, '100000'])),
      VIDEO_REVIEW_SECONDS: '1',
      CREDENTIALS_KEYRING: ring,
    },
    environmentOf: {
      auth: { ...egress, NODE_EXTRA_CA_CERTS: issuer.certificateFile },
      gateway: egress,
      'video-worker': { ...egress, NODE_EXTRA_CA_CERTS: receiver.certificateFile },
    },
  });
  deaths = new FailpointDeaths(installation);
  connect();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await disconnect();
  await installation?.stop();
  await Promise.all([providers?.stop(), receiver?.stop(), issuer?.stop()]);
}, BOOT_TIMEOUT_MS);

jest.setTimeout(FULL ? 3_600_000 : 2 * END_MS);

let made = 0;
/** Keeps what an ordeal makes apart from what others did. */
const newTag = (point: Failpoint): string => `${point}-${(made += 1)}`;

/** Several ordeals of one app, in one row of deaths; what became of each is looked at when all are over. */
async function endure(...ordeals: readonly [Ordeal, ...Ordeal[]]): Promise<void> {
  const [{ app, environment }] = ordeals;
  const row = ordeals.flatMap((ordeal) => ordeal.deaths);
  await deaths.die(app, row, environment);
  // Connections of before may have died with the gateway.
  await disconnect();
  connect();
  for (const { verify } of ordeals) await verify();
}

function connect(): void {
  client = installation.client();
  manager = installation.client(installation.seed.managementKey);
}

async function disconnect(): Promise<void> {
  await Promise.all([client?.close(), manager?.close()]);
}

interface Count {
  readonly n: number;
}

async function count(sql: string, ...values: readonly string[]): Promise<number> {
  return (await installation.database.firstRow<Count>({ sql: `SELECT (${sql})::integer AS n`, values: [...values] }))!
    .n;
}

// Batches.

function planOf(tag: string): BatchPlan & { readonly idempotencyKey: string } {
  return { tag, idempotencyKey: tag, lines: LINES, model: 'tests/steady', prices: PRICES };
}

const submit = (plan: BatchPlan): Promise<BatchRun> => BatchRun.submit(installation, providers.lines, client, plan);

async function expectSound(run: BatchRun): Promise<void> {
  await run.untilTerminal(END_MS);
  // What was sent before the death is sent again, which may be after the end.
  const history = await eventually(`the messages about ${run.id} are sent`, END_MS, async () => {
    const all = await run.history();
    return all.books.outboxRows === 0 ? all : undefined;
  });
  expect(findViolations(history)).toEqual([]);
  expect(run.batch!.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
}

const batchesUnder = (key: string): Promise<number> =>
  count('SELECT count(*) FROM batches WHERE idempotency_key = $1', key);

/** A caller who did not hear an answer submits the batch again under the same key; there is one, and it runs once. */
async function expectOnce(plan: BatchPlan & { readonly idempotencyKey: string }): Promise<void> {
  const run = await submit(plan);
  await expectSound(run);
  expect(await batchesUnder(plan.idempotencyKey)).toBe(1);
  expect(repeatedAnswers(await run.history())).toBe(0);
}

function intakeOrdeal(point: Failpoint, storedBefore: 0 | 1): Ordeal {
  const plan = planOf(newTag(point));
  return {
    app: 'gateway',
    deaths: [{ point, pass: 1, load: () => submit(plan) }],
    verify: async () => {
      expect(await batchesUnder(plan.idempotencyKey)).toBe(storedBefore);
      await expectOnce(plan);
    },
  };
}

/** Every app relays what it finds in the outbox, so batches are submitted until the gateway is first at one. */
function relayOrdeal(point: Failpoint): Ordeal {
  const plans: ReturnType<typeof planOf>[] = [];
  const load = async (): Promise<void> => {
    for (let tries = 0; tries < MOST_SUBMISSIONS; tries += 1) {
      const plan = planOf(newTag(point));
      plans.push(plan);
      await submit(plan);
    }
  };
  return {
    app: 'gateway',
    deaths: [{ point, pass: 1, load }],
    verify: async () => {
      for (const plan of plans) await expectOnce(plan);
    },
  };
}

/** A worker that dies, as often as that, on the way of one batch. */
function lineOrdeal(...points: readonly (readonly [point: Failpoint, pass: number])[]): Ordeal {
  const plan = planOf(newTag(points[0]![0]));
  const nothing = async (): Promise<void> => undefined;
  return {
    app: 'batch-worker',
    deaths: points.map(([point, pass], index) => ({ point, pass, load: index === 0 ? () => submit(plan) : nothing })),
    verify: async () => expectSound(await submit(plan)),
  };
}

async function finished(model: string, tag: string): Promise<BatchBody> {
  const requests = chatRequests(linesOf(tag, LINES));
  const { body } = await client.submitBatch({ endpoint: '/v1/chat/completions', model, requests });
  return eventually(`the end of ${body.id}`, END_MS, async () => {
    const answer = await client.getBatch(body.id);
    return answer.status === 200 && answer.body.status === 'completed' ? answer.body : undefined;
  });
}

const remove = (path: string, by: ApiClient): Promise<ApiAnswer> => by.request('DELETE', path);

async function expectRemoved(id: string): Promise<void> {
  expect((await client.getBatch(id)).status).toBe(404);
  const left = `SELECT count(*) FROM batches b WHERE b.id = $1 AND (b.deleted_at IS NULL
    OR EXISTS (SELECT FROM batch_results r WHERE r.batch_number = b.number)
    OR EXISTS (SELECT FROM batch_lines l WHERE l.batch_number = b.number))`;
  expect(await count(left, id)).toBe(0);
}

async function upstreamRemovalOrdeal(): Promise<Ordeal> {
  const point = 'upstream-batch-removed';
  const { id } = await finished('tests/native', newTag(point));
  return {
    app: 'batch-worker',
    deaths: [{ point, pass: 1, load: () => remove(`/batches/${id}`, client) }],
    // The first request may have been answered before its worker was back, or after.
    verify: async () => {
      expect([200, 404]).toContain((await remove(`/batches/${id}`, client)).status);
      await expectRemoved(id);
    },
  };
}

async function purgeOrdeal(pass: 1 | 2): Promise<Ordeal> {
  const point = 'batch-table-purged';
  const { id } = await finished('tests/steady', newTag(point));
  return {
    app: 'gateway',
    deaths: [{ point, pass, load: () => remove(`/batches/${id}`, client) }],
    verify: async () => {
      expect((await client.getBatch(id)).body.results).toHaveLength(LINES);
      expect((await remove(`/batches/${id}`, client)).status).toBe(200);
      await expectRemoved(id);
    },
  };
}

// Calls.

/** What a sweep does with the calls of a gateway that has been dead for a quarter of an hour. */
async function giveUpDeadCalls(): Promise<void> {
  await new GenerationsRepository(installation.database).abandonOlderThan(0);
}

const openCalls = (model: string): Promise<number> =>
  count(`SELECT count(*) FROM generations WHERE state = 'open' AND model = $1`, model);

const chargesOf = (model: string): Promise<number> =>
  count(
    `SELECT count(*) FROM ledger_transfers t JOIN generations g ON g.id = t.reference
     WHERE t.kind = 'charge' AND g.model = $1`,
    model,
  );

const heldForCalls = async (): Promise<bigint> => {
  const sql = `SELECT coalesce(sum(hold_usd), 0)::text AS usd FROM generations WHERE state <> 'settled'`;
  return amountOf((await installation.database.firstRow<{ usd: string }>({ sql }))!.usd);
};

async function callOrdeal(point: (typeof CALLS)[number], isStream: boolean): Promise<Ordeal> {
  const model = `tests/${point}`;
  const chat = (stream: boolean): Promise<ApiAnswer> =>
    client.chat({ model, messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8, stream });
  const asked = (): number => providers.calls.get(point) ?? 0;
  const [chargedBefore, askedBefore] = [await chargesOf(model), asked()];
  return {
    app: 'gateway',
    deaths: [{ point, pass: 1, load: () => chat(isStream) }],
    verify: async () => {
      expect(asked()).toBe(askedBefore + (point === 'call-covered' ? 0 : 1));
      await giveUpDeadCalls();
      expect([await openCalls(model), await heldForCalls()]).toEqual([0, 0n]);
      expect(await chargesOf(model)).toBe(chargedBefore);
      expect((await chat(false)).status).toBe(200);
      await eventually('the call that was made again is charged', END_MS, async () =>
        (await chargesOf(model)) > chargedBefore ? true : undefined,
      );
      expect([await openCalls(model), await chargesOf(model)]).toEqual([0, chargedBefore + 1]);
    },
  };
}

// Videos.

async function submitVideo(recall: Recall): Promise<string> {
  const body = { model: `film/${recall}`, prompt: 'A film.', duration: SECONDS, callback_url: receiver.url() };
  const answer = await client.request<{ id: string }>('POST', '/videos', body);
  expect(answer.status).toBe(202);
  return answer.body.id;
}

interface EndedVideo {
  readonly status: string;
  readonly needs_review: boolean;
  readonly hold: string;
  readonly charges: string[];
}

const videoEnd = (id: string): Promise<EndedVideo> =>
  eventually(`${id} is over and announced`, END_MS, async () => {
    const row = await installation.database.firstRow<EndedVideo>({
      sql: `SELECT v.status, v.needs_review, h.state AS hold,
              (SELECT coalesce(json_agg(t.amount_usd::text), '[]') FROM ledger_transfers t
                WHERE t.reference = v.id AND t.kind = 'charge') AS charges
            FROM videos v JOIN ledger_holds h ON h.id = v.id
            JOIN webhook_deliveries d ON d.id = v.id || '-' || v.status AND d.delivered_at IS NOT NULL
            WHERE v.id = $1 AND v.finished_at IS NOT NULL`,
      values: [id],
    });
    return row ?? undefined;
  });

/** The ids of the events that were received about a job, each as often as it came. */
const eventsAbout = (id: string): string[] =>
  receiver.events.filter(({ text }) => text.includes(id)).map(({ headers }) => String(headers['webhook-id']));

function videoOrdeal(recall: Recall, ...points: readonly Failpoint[]): Ordeal {
  const job = Promise.withResolvers<string>();
  const load = async (): Promise<void> => job.resolve(await submitVideo(recall));
  const nothing = async (): Promise<void> => undefined;
  return {
    app: 'video-worker',
    deaths: points.map((point, index) => ({ point, pass: 1, load: index === 0 ? load : nothing })),
    verify: async () => {
      const id = await job.promise;
      const { charges, ...end } = await videoEnd(id);
      // Where a provider can neither be asked nor asked again, nobody can know that it took the job.
      const isKnown = recall !== 'plain' || !points.includes('video-submitted');
      const status = isKnown ? 'completed' : 'failed';
      expect(end).toEqual({ status, needs_review: !isKnown, hold: 'resolved' });
      expect(charges.map(amountOf)).toEqual(isKnown ? [amountOf(VIDEO_USD) * BigInt(SECONDS)] : []);
      expect(providers.films[recall].paidFor().get(id)).toBe(1);
      const times = points.includes('webhook-sent') ? 2 : 1;
      expect(eventsAbout(id)).toEqual(Array(times).fill(`${id}-${status}`));
      if (isKnown) expect((await client.request('GET', `/videos/${id}/content?index=0`)).status).toBe(200);
    },
  };
}

// Keys of callers, and tokens.

const newRingKey = (): string => `${newTag('data-keys-rewrapped')}:${randomBytes(32).toString('base64')}`;
let ring = newRingKey();

async function bring(): Promise<{ readonly id: string; readonly key: string }> {
  const key = `csk-${randomBytes(24).toString('hex')}`;
  const answer = await manager.request<{ data: { id: string } }>('POST', '/byok', { key, provider: 'cerebras' });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return { id: answer.body.data.id, key };
}

const callsWith = (key: string): Promise<true> =>
  eventually('the key of the caller is used', END_MS, async () => {
    const messages = [{ role: 'user', content: 'Hello?' }];
    const { status } = await client.chat({ model: 'tests/own', messages, max_tokens: 8 });
    return status === 200 && providers.lastKeys.get('own') === `Bearer ${key}` ? true : undefined;
  });

async function rewrappingOrdeal(): Promise<Ordeal> {
  const { id, key } = await bring();
  const [newest, older] = [newRingKey(), ring];
  ring = newest;
  const rotate = (): Promise<object> => new Operator(installation).run<object>('credentials', 'rotate-kek');
  return {
    app: 'credentials',
    deaths: [{ point: 'data-keys-rewrapped', pass: 1, load: rotate }],
    environment: { CREDENTIALS_KEYRING: `${newest},${older}` },
    verify: async () => {
      await callsWith(key);
      expect(await rotate()).toMatchObject({ key_id: newest.split(':')[0], remaining: 0, failed_ids: [] });
      await installation.stopApp('credentials');
      await installation.startApp('credentials', 'credentials', [{ CREDENTIALS_KEYRING: newest }]);
      await callsWith(key);
      expect((await remove(`/byok/${id}`, manager)).status).toBe(200);
    },
  };
}

async function erasingOrdeal(): Promise<Ordeal> {
  const { id } = await bring();
  return {
    app: 'credentials',
    deaths: [{ point: 'credential-erased', pass: 1, load: () => remove(`/byok/${id}`, manager) }],
    environment: { CREDENTIALS_KEYRING: ring },
    verify: async () => {
      const isHalf = '(deleted_at IS NULL) <> (sealed_key IS NOT NULL AND wrapped_data_key IS NOT NULL)';
      expect(await count(`SELECT count(*) FROM credentials WHERE ${isHalf}`)).toBe(0);
      expect([200, 404]).toContain((await remove(`/byok/${id}`, manager)).status);
      expect((await manager.request('GET', `/byok/${id}`)).status).toBe(404);
    },
  };
}

let policy: Promise<string> | undefined;

async function makePolicy(): Promise<string> {
  const make = async (what: string, body: object): Promise<string> => {
    const answer = await manager.request<{ data: { id: string } }>('POST', `/workload-identity/${what}`, body);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
    return answer.body.data.id;
  };
  return make('policies', {
    issuer_id: await make('issuers', { name: 'Test', issuer_url: issuer.url }),
    name: 'made by a test',
    subject: CLAIMS.sub,
    audience: CLAIMS.aud,
    api_key_hash: hashApiKey(installation.seed.apiKey),
    single_use: true,
  });
}

async function exchangeOrdeal(): Promise<Ordeal> {
  const id = await (policy ??= makePolicy());
  const newToken = (): Promise<string> => issuer.sign({ ...CLAIMS, jti: randomBytes(12).toString('hex') });
  const exchange = async (token: string): Promise<number> => {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      federation_policy_id: id,
      subject_token: token,
    });
    const headers = { authorization: `Bearer ${installation.seed.apiKey}` };
    return (await fetch(`${installation.baseUrl}/oauth/token`, { method: 'POST', body: form, headers })).status;
  };
  const [token, statuses] = [await newToken(), [] as number[]];
  return {
    app: 'auth',
    deaths: [{ point: 'token-id-claimed', pass: 1, load: async () => statuses.push(await exchange(token)) }],
    verify: async () => {
      expect(statuses).not.toContain(200);
      expect(await exchange(token)).toBe(400);
      expect(await exchange(await newToken())).toBe(200);
    },
  };
}

// The two forms.

describe('an app of the build with failpoints', () => {
  it('does not start with a failpoint that is none, and says what would be one', () => {
    const { status, stdout } = spawnSync(process.execPath, [join(build, 'apps/batch-worker/src/main.js')], {
      env: { PATH: process.env.PATH, FAILPOINT: 'no-such-moment:kill9@1' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stdout).toContain('Boot failed: Bad environment: FAILPOINT must be NAME:kill9@PASS');
  });
});

if (FULL) {
  const timesOver = async (newOrdeal: (turn: number) => Ordeal | Promise<Ordeal>): Promise<void> => {
    for (let turn = 0; turn < HITS; turn += 1) await endure(await newOrdeal(turn));
  };
  const ordeals: Readonly<Record<Failpoint, (turn: number) => Ordeal | Promise<Ordeal>>> = {
    'batch-stored': () => intakeOrdeal('batch-stored', 0),
    'batch-accepted': () => intakeOrdeal('batch-accepted', 1),
    'call-covered': (turn) => callOrdeal('call-covered', turn % 2 === 0),
    'stream-begun': () => callOrdeal('stream-begun', true),
    'call-answered': (turn) => callOrdeal('call-answered', turn % 2 === 0),
    'outbox-selected': () => relayOrdeal('outbox-selected'),
    'job-published': () => relayOrdeal('job-published'),
    'outbox-confirmed': () => relayOrdeal('outbox-confirmed'),
    'batch-nudged': () => lineOrdeal(['batch-nudged', 1]),
    'line-leased': (turn) => lineOrdeal(['line-leased', 1 + ((turn * 37) % LINES)]),
    'line-answered': (turn) => lineOrdeal(['line-answered', 1 + ((turn * 37) % LINES)]),
    'results-committed': () => lineOrdeal(['results-committed', 1]),
    'job-handled': () => lineOrdeal(['job-handled', 1]),
    'batch-finalizing': () => lineOrdeal(['batch-finalizing', 1]),
    'batch-completed': () => lineOrdeal(['batch-completed', 1]),
    'video-submitted': (turn) => videoOrdeal(RECALLS[turn % RECALLS.length]!, 'video-submitted'),
    'video-fetched': (turn) => videoOrdeal(RECALLS[turn % RECALLS.length]!, 'video-fetched'),
    'webhook-sent': (turn) => videoOrdeal(RECALLS[turn % RECALLS.length]!, 'webhook-sent'),
    'data-keys-rewrapped': rewrappingOrdeal,
    'credential-erased': erasingOrdeal,
    'token-id-claimed': exchangeOrdeal,
    'upstream-batch-removed': upstreamRemovalOrdeal,
    'batch-table-purged': (turn) => purgeOrdeal(turn % 2 === 0 ? 1 : 2),
  };

  describe('an app that dies', () => {
    it.each(FAILPOINTS)('at %s, fifty times, loses, doubles and overcharges nothing', (point) =>
      timesOver(ordeals[point]),
    );
  });
} else {
  describe('the gateway', () => {
    it('dies while it takes batches in, sends messages, calls providers and removes a batch, and does each once', async () => {
      await endure(
        await purgeOrdeal(1),
        intakeOrdeal('batch-stored', 0),
        intakeOrdeal('batch-accepted', 1),
        relayOrdeal('outbox-selected'),
        relayOrdeal('job-published'),
        relayOrdeal('outbox-confirmed'),
        await callOrdeal('call-covered', false),
        await callOrdeal('stream-begun', true),
        await callOrdeal('call-answered', false),
      );
    });
  });

  describe('a batch worker', () => {
    it('dies at every step of a batch, and at its removal, and each line has one result and one charge', async () => {
      await endure(
        lineOrdeal(
          ['batch-nudged', 1],
          ['job-handled', 1],
          ['line-leased', 5],
          ['line-answered', 20],
          ['results-committed', 1],
          ['batch-finalizing', 1],
          ['batch-completed', 1],
        ),
        await upstreamRemovalOrdeal(),
      );
    });
  });

  describe('a video worker', () => {
    it('dies at every step of a job, which is paid for once and announced under one id', async () => {
      await endure(videoOrdeal('keyed', 'video-submitted', 'video-fetched', 'webhook-sent'));
      await endure(videoOrdeal('listed', 'video-submitted'), videoOrdeal('plain', 'video-submitted'));
    });
  });

  describe('the credentials app', () => {
    it('dies while it rewraps and erases keys, and each is whole or gone', async () => {
      const erasing = await erasingOrdeal();
      await endure(await rewrappingOrdeal(), erasing);
    });
  });

  describe('the auth app', () => {
    it('dies when it has used up a token, and mints nothing for it later', async () => endure(await exchangeOrdeal()));
  });
}

describe('after all of that', () => {
  it('every failpoint was died at, nothing is held, and the books balance', async () => {
    const hits = Object.fromEntries(FAILPOINTS.map((point) => [point, deaths.hits.get(point) ?? 0]));
    process.stderr.write(`      ${JSON.stringify(hits)}\n`);
    expect(FAILPOINTS.filter((point) => !deaths.hits.has(point))).toEqual([]);
    await giveUpDeadCalls();
    expect(await heldForCalls()).toBe(0n);
    expect(await count(`SELECT count(*) FROM ledger_holds WHERE state = 'open'`)).toBe(0);
    expect(await count(`SELECT count(*) FROM ledger_accounts WHERE held_usd <> 0`)).toBe(0);
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
  });
});
