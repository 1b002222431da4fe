import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator } from '../support/operator';
import { expectRefusal } from './refusals';
import { countRows } from '../support/stored-rows';
import { WebhookReceiver, type ReceivedEvent } from '../support/webhook-receiver';

const MODEL = 'hooks/talker';
const PATIENCE_MS = 20_000;

interface Event {
  readonly type: string;
  readonly created_at: string;
  readonly data: BatchBody;
}

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly lastError: string | null;
}

let upstream: Upstream;
let receiver: WebhookReceiver;
let installation: Installation;
let client: ApiClient;
let manager: ApiClient;
let operator: Operator;
let workspace: string;
const secrets: string[] = [];
let batches = 0;

beforeAll(async () => {
  [upstream, receiver] = await Promise.all([Upstream.start({ steady: {} }), WebhookReceiver.start()]);
  const baseUrl = upstream.baseUrl('steady');
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  installation = await Installation.start({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'hooks-talk', baseUrl, pricing }]),
    environment: { EGRESS_ALLOW_CIDRS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: receiver.certificateFile },
  });
  client = installation.client();
  manager = installation.client(installation.seed.managementKey);
  operator = new Operator(installation);
  workspace = `/workspaces/${installation.seed.workspaceId}`;
}, 240_000);

afterAll(async () => {
  receiver?.release(204);
  await Promise.all([client, manager].map((each) => each?.close()));
  await installation?.stop();
  await Promise.all([upstream?.stop(), receiver?.stop()]);
});

/** A batch of one line, announced at the path. Without a path it names no place. */
async function submit(path: string | null, members: object = {}): Promise<BatchBody> {
  const requests = chatRequests(linesOf(`hook-${(batches += 1)}`, 1));
  const callback = path === null ? {} : { callback_url: receiver.url(path) };
  const body = { requests, ...callback, model: MODEL, endpoint: '/v1/chat/completions', ...members };
  const answer = await client.request<BatchBody>('POST', '/batches', body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 });
  return answer.body;
}

async function rotateSecret(): Promise<string> {
  const answer = await manager.request<{ data: { webhook_secret: string } }>('POST', `${workspace}/webhook-secret`);
  expect(answer.status).toBe(200);
  const { webhook_secret: secret } = answer.body.data;
  secrets.push(secret);
  return secret;
}

/** As a receiver with the standard library does it. @throws when the event is not real */
const verify = (secret: string, { text, headers }: ReceivedEvent): Event =>
  new Webhook(secret).verify(text, headers as Record<string, string>) as Event;

const delivery = (id: string) =>
  installation.database.firstRow<Record<string, unknown>>({
    sql: 'SELECT * FROM webhook_deliveries WHERE id = $1',
    values: [id],
  });

/** Once its row says so, which is after the receiver knows. */
const untilDelivered = (id: string) =>
  eventually(`the delivery of ${id}`, PATIENCE_MS, async () => {
    const row = await delivery(id);
    return row?.['delivered_at'] === null ? undefined : (row ?? undefined);
  });

const untilGivenUp = (id: string) =>
  eventually(`the end of attempts at ${id}`, PATIENCE_MS, async () =>
    (await delivery(id))?.['given_up_at'] instanceof Date ? true : undefined,
  );

describe('the end of a batch', () => {
  it('is told without a signature to a workspace that has no secret', async () => {
    const { id } = await submit('/unsigned');
    const [event] = await receiver.at('/unsigned');
    expect(JSON.parse(event!.text)).toMatchObject({ type: 'batch.completed', data: { id } });
    expect(Object.keys(event!.headers)).toEqual(expect.arrayContaining(['webhook-id', 'webhook-timestamp']));
    expect(event!.headers).not.toHaveProperty('webhook-signature');
    expect((await manager.request(`GET`, workspace)).body).toMatchObject({ data: { webhook_signing: false } });
  });

  it('is told once, signed, with the batch and without its results', async () => {
    const secret = await rotateSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { id } = await submit('/signed');
    const [event] = await receiver.at('/signed');
    const { type, created_at: createdAt, data } = verify(secret, event!);
    expect(type).toBe('batch.completed');
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const { body } = await client.getBatch(id);
    expect(data).toEqual({ ...(JSON.parse(JSON.stringify(body)) as object), usage: data.usage, results: null });
    expect(data).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 1, failed: 0 } });
    await untilDelivered(`${id}-completed`);
    expect(receiver.events.filter(({ path }) => path === '/signed')).toHaveLength(1);
    expect((await manager.request('GET', workspace)).body).toMatchObject({ data: { webhook_signing: true } });
  });

  it('carries the older pair of headers as well', async () => {
    const [{ headers, text }] = (await receiver.at('/signed')) as [ReceivedEvent];
    const [, timestamp, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-sluice-signature'])) ?? [];
    expect(createHmac('sha256', secrets[0]!).update(`${timestamp},${text}`).digest('hex')).toBe(signature);
    expect(headers['x-sluice-idempotency-key']).toBe(headers['webhook-id']);
    expect(headers['webhook-id']).toMatch(/^batch-\d+-\w{20}-completed$/);
  });

  it('is told when it failed', async () => {
    const body = { messages: [{ role: 'user', content: 'Hello!' }], temperature: 'hot' };
    const { id } = await submit('/failed', { requests: [{ custom_id: 'hot', body }] });
    const [event] = await receiver.at('/failed');
    expect(verify(secrets[0]!, event!)).toMatchObject({
      type: 'batch.failed',
      data: { id, status: 'failed', error: { message: expect.any(String) } },
    });
  });

  it("is told at the workspace's own address when the batch names none", async () => {
    const set = async (url: string | null) => {
      const answer = await manager.request('PATCH', workspace, { default_callback_url: url });
      // For so long the gateway may go on with what it knows of the key.
      await delay(1_000);
      return answer;
    };
    const address = receiver.url('/default');
    expect(await set(address)).toMatchObject({ status: 200, body: { data: { default_callback_url: address } } });
    await submit(null);
    await submit('/own');
    await Promise.all([receiver.at('/default'), receiver.at('/own')]);
    expect(await set(null)).toMatchObject({ body: { data: { default_callback_url: null } } });
    await submit(null);
    expect(receiver.events.filter(({ path }) => path === '/default')).toHaveLength(1);
  });
});

describe('a receiver', () => {
  it('may verify with the old or the new secret while the secret is replaced', async () => {
    const current = await rotateSecret();
    // For so long the worker may go on with what it knows.
    await delay(1_000);
    await submit('/rotated');
    const [event] = await receiver.at('/rotated');
    expect(verify(current, event!).type).toBe('batch.completed');
    expect(verify(secrets[0]!, event!).type).toBe('batch.completed');
    await rotateSecret();
    await delay(1_000);
    await submit('/rotated-twice');
    const [later] = await receiver.at('/rotated-twice');
    expect(() => verify(secrets[0]!, later!)).toThrow();
    expect(verify(current, later!).type).toBe('batch.completed');
  });

  it('is asked again after it failed, under the same id, with both secrets of then', async () => {
    receiver.answers = [500];
    const { id } = await submit('/failing');
    const [first, second] = (await receiver.at('/failing', 2)) as [ReceivedEvent, ReceivedEvent];
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(second.text).toBe(first.text);
    const seconds = ({ headers }: ReceivedEvent): number => Number(headers['webhook-timestamp']);
    expect(seconds(second) - seconds(first)).toBeGreaterThanOrEqual(4);
    for (const secret of secrets.slice(-2)) verify(secret, second);
    expect(await untilDelivered(`${id}-completed`)).toMatchObject({ attempts: 2, last_status: 204 });
  });

  it('is followed to no other place, and not asked again once it is gone', async () => {
    receiver.answers = [410];
    const { id } = await submit('/gone');
    await untilGivenUp(`${id}-completed`);
    receiver.answers = [302];
    const redirected = await submit('/moved');
    await eventually('the redirect is noted', PATIENCE_MS, async () =>
      (await delivery(`${redirected.id}-completed`))?.['last_status'] === 302 ? true : undefined,
    );
    expect(receiver.events.some(({ path }) => path === '/elsewhere')).toBe(false);
  });

  it('gets the same id again when the worker dies in the middle of telling it', async () => {
    receiver.answers = ['hold'];
    const { id } = await submit('/killed');
    await receiver.at('/killed');
    await installation.kill9('video-worker');
    // Its lease would run out within the minute.
    await installation.database.execute({
      sql: `UPDATE webhook_deliveries SET lease_until = now() - interval '1 second' WHERE id = $1`,
      values: [`${id}-completed`],
    });
    const [first, second] = (await receiver.at('/killed', 2)) as [ReceivedEvent, ReceivedEvent];
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    // The one whose worker died counts for nothing.
    expect(await untilDelivered(`${id}-completed`)).toMatchObject({ attempts: 1 });
    expect(receiver.events.filter(({ path }) => path === '/killed')).toHaveLength(2);
  });

  it('that is slow is waited for by a worker that stops, and told once', async () => {
    receiver.answers = ['hold'];
    const { id } = await submit('/drained');
    await receiver.at('/drained');
    const stopped = installation.stopApp('video-worker');
    setTimeout(() => receiver.release(200), 500);
    await stopped;
    expect(await delivery(`${id}-completed`)).toMatchObject({ delivered_at: expect.any(Date), attempts: 1 });
    await installation.startApp('video-worker');
    expect(receiver.events.filter(({ path }) => path === '/drained')).toHaveLength(1);
  });
});

describe('an address', () => {
  it.each([
    ['without TLS', 'http://receiver.example/hook'],
    ['that is no URL', 'receiver.example'],
    ['with a password', 'https://user:hunter2@receiver.example/'],
    ['with a fragment', 'https://receiver.example/#a'],
    ['of another kind', 7],
    ['of kilobytes', `https://receiver.example/${'a'.repeat(10_000)}`],
  ])('%s is refused by name, and nothing is left of the batch', async (_what, url) => {
    const before = await countRows(installation.database);
    const requests = chatRequests(linesOf('refused', 1));
    const body = { requests, model: MODEL, endpoint: '/v1/chat/completions', callback_url: url };
    const answer = await client.request('POST', '/batches', body);
    expectRefusal(answer, 400, ['hunter2']);
    expect(answer.body).toMatchObject({ error: { metadata: { param: 'callback_url' } } });
    expect(await countRows(installation.database)).toEqual(before);
  });

  it('in a private network is connected to by nobody; the refusal is kept for the operator', async () => {
    const id = 'batch-1-AAAAAAAAAAAAAAAAAAAA-completed';
    await installation.database.execute({
      sql: `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
            SELECT $1, organization_id, workspace_id, 'https://10.20.30.40/secret-path', '10.20.30.40', type, payload
            FROM webhook_deliveries LIMIT 1`,
      values: [id],
    });
    await untilGivenUp(id);
    const listed = await operator.runHere<Listed[]>('webhooks', 'list', '--state', 'given-up');
    const given = listed.find((one) => one.id === id);
    expect(given).toMatchObject({ state: 'given up', attempts: 1 });
    expect(given?.lastError).toMatch(/^callback_url is refused: /);
    expect(JSON.stringify(given)).not.toContain('secret-path');
  });
});

describe('a receiver that keeps failing', () => {
  const EVENTS = 50;

  /** So many events are due at the path, as if so many batches had ended. */
  const owe = (path: string): Promise<number> =>
    installation.database.execute({
      sql: `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
            SELECT $1 || n, organization_id, workspace_id, $2, $3, type, payload
            FROM generate_series(1, $4::integer) n, (SELECT * FROM webhook_deliveries LIMIT 1) w`,
      values: [path, receiver.url(path), new URL(receiver.url(path)).host, EVENTS],
    });

  const rowsAt = (path: string) =>
    installation.database.rows<{ attempts: number; pending: boolean; dueInMs: number }>({
      sql: `SELECT attempts, num_nonnulls(delivered_at, given_up_at) = 0 AS pending,
              (extract(epoch FROM next_attempt_at - now()) * 1000)::float8 AS "dueInMs"
            FROM webhook_deliveries WHERE url = $1`,
      values: [receiver.url(path)],
    });

  const callsAt = (path: string): number => receiver.events.filter((event) => event.path === path).length;

  it('gets a few of fifty events, while another at its host gets all of them at once', async () => {
    receiver.broken.add('/dead');
    await owe('/dead');
    await owe('/alive');
    const begunMs = Date.now();
    await receiver.at('/alive', EVENTS);
    expect(Date.now() - begunMs).toBeLessThan(8_000);
    await eventually('all that is due is put off', PATIENCE_MS, async () =>
      (await rowsAt('/dead')).every(({ dueInMs }) => dueInMs > 0) ? true : undefined,
    );
    // The attempts after 5 seconds of those that failed would be made now.
    await delay(8_000);
    expect(callsAt('/dead')).toBeLessThanOrEqual(10);
    const rows = await rowsAt('/dead');
    expect(rows.every(({ pending }) => pending)).toBe(true);
    expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(callsAt('/dead'));
  });

  it('gets what the operator sends again all the same, and all the rest when it takes that', async () => {
    receiver.broken.clear();
    const before = callsAt('/dead');
    expect(await operator.runHere('webhooks', 'redeliver', '/dead50')).toEqual({ id: '/dead50' });
    await untilDelivered('/dead50');
    expect(callsAt('/dead')).toBe(before + 1);
    // In place of the half minute until the next probe.
    await installation.database.execute({
      sql: 'UPDATE webhook_deliveries SET next_attempt_at = now() WHERE url = $1',
      values: [receiver.url('/dead')],
    });
    await receiver.at('/dead', before + EVENTS);
  });
});

describe('the operator', () => {
  it('sends an event again, under its id', async () => {
    const [first] = (await receiver.at('/signed')) as [ReceivedEvent];
    const id = String(first.headers['webhook-id']);
    expect(await operator.runHere('webhooks', 'redeliver', id)).toEqual({ id });
    const [, second] = (await receiver.at('/signed', 2)) as [ReceivedEvent, ReceivedEvent];
    expect([second.headers['webhook-id'], second.text]).toEqual([id, first.text]);
  });

  it('finds no secret in the tables, the messages that wait or the logs', async () => {
    const { rows, outbox } = await stored();
    const logs = readdirSync(installation.folder)
      .filter((name) => name.endsWith('.log'))
      .map((name) => readFileSync(join(installation.folder, name), 'utf8'));
    expect(logs.length).toBeGreaterThanOrEqual(5);
    for (const secret of secrets) {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      for (const shape of [secret.slice(6), key.toString('hex'), key.toString('base64url')]) {
        expect([rows, outbox, ...logs].filter((text) => text.includes(shape))).toEqual([]);
      }
    }
  });
});

async function stored(): Promise<{ rows: string; outbox: string }> {
  const textOf = async (table: string): Promise<string> =>
    JSON.stringify(await installation.database.rows({ sql: `SELECT t::text FROM ${table} t` }));
  const tables = ['webhook_secrets', 'webhook_deliveries', 'workspaces', 'batches', 'audit_entries'];
  return { rows: (await Promise.all(tables.map(textOf))).join(), outbox: await textOf('outbox') };
}
