import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { selfSignedCertificate } from '@libs/platform/testing';
import { catalogueOf } from '../support/catalogue';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { CONDUCTS, OddReceiver, type ConductPath } from '../support/odd-receiver';
import { Operator, type Tenant } from '../support/operator';
import { report } from '../support/scale';

const HOSTS = Array.from({ length: 40 }, (_, at) => `127.0.7.${at + 1}`);
const PATIENCE_MS = 40_000;
const KILLS = 3;
/** For an event of another customer, on a machine that is busy otherwise. An attempt that fails takes 15 seconds. */
const SOON_MS = 5_000;

/** What is noted of the first attempt; null where there was no answer. */
const STATUSES: Readonly<Record<ConductPath, number | null>> = {
  '/never': null,
  '/drip': null,
  '/drip-header': null,
  '/head-without-end': null,
  '/many-headers': null,
  '/body-without-end': 200,
  '/error-without-end': 500,
  '/hang-after-200': 200,
  '/early-hints': null,
  '/continue': null,
  '/switch': null,
  '/hang-up': null,
  '/half-a-head': null,
  '/no-http': null,
  '/status-999': 999,
  '/no-location': 302,
  '/elsewhere': 308,
  '/circle': 307,
  '/not-modified': 304,
  '/busy': 429,
  '/busy-before': 429,
  '/busy-for-ages': 503,
  '/gone': 410,
  '/slow': 204,
  '/fine': 204,
};

interface Row {
  readonly id: string;
  readonly attempts: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly state: 'delivered' | 'given up' | 'pending';
  /** From the attempt to the next. */
  readonly pauseSeconds: number;
}

const certificateFile = join(tmpdir(), `sluice-odd-receiver-${process.pid}.pem`);
let silent: OddReceiver;
let odd: OddReceiver;
let stranger: OddReceiver;
let installation: Installation;
let sender: Tenant;
let neighbour: Tenant;
let operator: Operator;

beforeAll(async () => {
  const hosts = ['127.0.0.1', ...HOSTS];
  const identity = selfSignedCertificate(hosts);
  writeFileSync(certificateFile, identity.certificate);
  silent = await OddReceiver.startSilent();
  odd = await OddReceiver.start(identity);
  stranger = await OddReceiver.start(selfSignedCertificate(hosts));
  installation = await Installation.start({
    catalogue: catalogueOf([
      {
        slug: 'hooks/unused',
        provider: 'openai',
        baseUrl: 'https://127.0.0.1:9/v1',
        pricing: { prompt: '0', completion: '0' },
      },
    ]),
    apps: ['auth', 'credentials', 'video-worker'],
    environment: { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: certificateFile },
  });
  operator = new Operator(installation);
  [sender, neighbour] = await Promise.all([operator.createTenant('S', '5'), operator.createTenant('N', '5')]);
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await Promise.all([silent, odd, stranger].map((each) => each?.stop()));
  rmSync(certificateFile, { force: true });
});

/** Nothing of one test is due in the next. */
afterEach(async () => {
  await installation.database.execute({
    sql: 'UPDATE webhook_deliveries SET given_up_at = now() WHERE delivered_at IS NULL AND given_up_at IS NULL',
  });
  await eventually('all attempts end', PATIENCE_MS, () => (odd.connections === 0 ? true : undefined));
});

/** These events are due now, as if so many batches had ended. */
async function owe(urls: Readonly<Record<string, string>>, { organizationId, workspaceId } = sender): Promise<void> {
  await installation.database.execute({
    sql: `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
          SELECT e.id, $3, $4, e.url, substring(e.url from '^https://([^/]+)'), 'batch.completed', '{}'
          FROM unnest($1::text[], $2::text[]) e (id, url)`,
    values: [Object.keys(urls), Object.values(urls), organizationId, workspaceId],
  });
}

/** The events whose ids begin so, once an attempt at each is noted. */
const untilTried = (prefix: string): Promise<Row[]> =>
  eventually('an attempt at each is noted', PATIENCE_MS, async () => {
    const rows = await installation.database.rows<Row>({
      sql: `SELECT id, attempts, last_status AS status, last_error AS error,
              CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN given_up_at IS NOT NULL THEN 'given up'
                ELSE 'pending' END AS state,
              extract(epoch FROM next_attempt_at - last_attempt_at)::float8 AS "pauseSeconds"
            FROM webhook_deliveries WHERE starts_with(id, $1) ORDER BY id`,
      values: [prefix],
    });
    return rows.every(({ attempts }) => attempts > 0) ? rows : undefined;
  });

/** Asserts that an event for another customer, whose receiver works, arrives soon. */
async function expectNeighbourServed(id: string, address?: string): Promise<void> {
  const path = `/fine?${id}`;
  const begunMs = performance.now();
  await owe({ [id]: odd.url(path, address) }, neighbour);
  await eventually(`the delivery of ${id}`, PATIENCE_MS, () => (odd.paths.includes(path) ? true : undefined));
  const ms = Math.round(performance.now() - begunMs);
  report({ neighbour: id, ms, ...worker() });
  expect(ms).toBeLessThan(SOON_MS);
}

function worker(): { rssMib: number; descriptors: number } {
  const folder = `/proc/${installation.pidOf('video-worker')}`;
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`${folder}/status`, 'utf8'))!;
  return { rssMib: Math.round(Number(kib) / 1024), descriptors: readdirSync(`${folder}/fd`).length };
}

const timesEach = (times: number, hosts: readonly string[], name: string, path: string): Record<string, string> =>
  Object.fromEntries(
    hosts.flatMap((host) =>
      Array.from({ length: times }, (_, at) => [`${name}-${host}-${at}`, odd.url(`${path}?${at}`, host)] as const),
    ),
  );

describe('a receiver', () => {
  it('that begins no TLS costs an attempt after 15 seconds, and neither a connection nor a place', async () => {
    await owe(Object.fromEntries([1, 2, 3, 4].map((at) => [`silent-${at}`, silent.url(`/${at}`)])));
    await eventually('the connections', PATIENCE_MS, () => (silent.connections === 4 ? true : undefined));
    await expectNeighbourServed('near-silent');
    for (const row of await untilTried('silent-')) {
      expect(row).toMatchObject({ status: null, error: 'The host did not answer in time', state: 'pending' });
    }
    await eventually('the end of them', PATIENCE_MS, () => (silent.connections === 0 ? true : undefined));
  });

  it('that does anything but answer gets its attempts, and others do not wait', async () => {
    const before = worker();
    const paths = Object.keys(CONDUCTS) as ConductPath[];
    await owe(Object.fromEntries(paths.map((path, at) => [`odd-${path}`, odd.url(path, HOSTS[at])])));
    await expectNeighbourServed('near-odd');
    const rows = await untilTried('odd-');
    const noted = Object.fromEntries(rows.map(({ id, status }) => [id.slice('odd-'.length), status]));
    expect(noted).toEqual(STATUSES);
    const of = (path: ConductPath): Row => rows.find(({ id }) => id === `odd-${path}`)!;
    expect(of('/gone').state).toBe('given up');
    expect(of('/busy-for-ages').pauseSeconds).toBeLessThan(1.2 * 86_400 + 1);
    expect(odd.paths.filter((path) => path === '/from-elsewhere')).toEqual([]);
    expect(worker().rssMib - before.rssMib).toBeLessThan(64);
  });

  it('with a certificate that none vouches for, or for another host, is sent nothing', async () => {
    await owe({ 'stranger-1': stranger.url('/own'), 'stranger-2': odd.url('/other', '127.0.9.9') });
    for (const row of await untilTried('stranger-')) {
      expect(row).toMatchObject({ status: null, error: expect.stringMatching(/CERT/), state: 'pending' });
    }
    expect(stranger.paths).toEqual([]);
    expect(odd.paths).not.toContain('/other');
  });

  it('at a private address in any spelling is never connected to', async () => {
    const hosts = [
      '10.0.0.1',
      '169.254.169.254',
      '[::ffff:10.0.0.1]',
      '[64:ff9b::a00:1]',
      '[fd00:ec2::254]',
      '0x0a000001',
    ];
    await owe(Object.fromEntries(hosts.map((host, at) => [`private-${at}`, `https://${host}/secret-path`])));
    const rows = await untilTried('private-');
    expect(rows).toHaveLength(hosts.length);
    for (const row of rows) {
      expect(row).toMatchObject({
        state: 'given up',
        status: null,
        error: expect.stringMatching(/^callback_url is refused/),
      });
    }
    const listed = JSON.stringify(await operator.runHere('webhooks', 'list', '--state', 'given-up'));
    expect(listed).toContain('private-0');
    expect(listed).not.toContain('secret-path');
  });
});

describe('a customer', () => {
  it('with many hosts that never answer does not delay the events of another', async () => {
    await owe(timesEach(10, HOSTS, 'many', '/never'));
    await eventually('as many attempts as one may have', PATIENCE_MS, () => (odd.connections >= 16 ? true : undefined));
    await delay(1_500);
    expect(odd.connections).toBe(16);
    await expectNeighbourServed('near-many');
  });

  it('whose URLs never answer at a host that another uses does not delay that one', async () => {
    await owe(timesEach(200, ['127.0.0.1'], 'same', '/never'));
    await eventually('as many attempts as one may have', PATIENCE_MS, () => (odd.connections >= 4 ? true : undefined));
    await expectNeighbourServed('near-same', '127.0.0.1');
  });
});

it('loses no event, and repeats only what was under way, when its worker is killed again and again', async () => {
  const events = timesEach(4, HOSTS, 'killed', '/slow');
  const begun = odd.paths.length;
  await owe(events);
  for (let kills = 0; kills < KILLS; kills += 1) {
    const before = odd.paths.length;
    await eventually('further attempts', PATIENCE_MS, () => (odd.paths.length > before + 4 ? true : undefined));
    await installation.kill9('video-worker');
    // Its leases would run out within the minute.
    await installation.database.execute({
      sql: `UPDATE webhook_deliveries SET lease_until = now() - interval '1 second' WHERE lease_until > now()`,
    });
  }
  const rows = await untilTried('killed-');
  expect(rows.filter(({ state, attempts }) => state !== 'delivered' || attempts !== 1)).toEqual([]);
  const attempts = odd.paths.length - begun;
  report({ events: rows.length, attempts, kills: KILLS });
  expect(rows).toHaveLength(Object.keys(events).length);
  expect(attempts).toBeLessThanOrEqual(rows.length + KILLS * 16);
}, 120_000);

it('nothing that a receiver sent, and no URL, is in the logs', () => {
  const logs = readdirSync(installation.folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => readFileSync(join(installation.folder, name), 'utf8'))
    .join('');
  expect(logs).toContain('event odd-/gone is given up');
  expect(logs).not.toMatch(/secret-path|\/never\?|SSH-2\.0|Early Hints/);
});
