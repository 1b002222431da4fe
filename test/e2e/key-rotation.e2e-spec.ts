import { hashApiKey } from '@libs/contracts';
import { setTimeout as delay } from 'node:timers/promises';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { feltFor } from '../support/felt-for';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { Upstream } from '../support/upstream';
import { expectRefusal } from './refusals';

const MODEL = 'rotation/talker';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };
/** Within which a change of a key must be felt everywhere. */
const FELT_WITHIN_MS = 1_000;

interface KeyBody {
  readonly data: {
    readonly hash: string;
    readonly name: string;
    readonly label: string;
    readonly limit: number | null;
    readonly usage: number;
    readonly previous_key_expires_at: string | null;
  };
  readonly key: string;
}

let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;
let stranger: ApiClient;

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  installation = await shareInstallation({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'rotation', baseUrl: upstream.baseUrl('steady'), pricing }]),
    apps: ['auth', 'batch-worker', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  stranger = installation.client((await new Operator(installation).createTenant('Stranger', '5')).managementKey);
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, stranger].map((each) => each?.close()));
  await giveBack(installation);
  await upstream?.stop();
});

async function createKey(members: object = {}): Promise<KeyBody> {
  const { status, body } = await manager.request<KeyBody>('POST', '/keys', { name: 'rotated', ...members });
  expect(status).toBe(201);
  return body;
}

async function rotate(hash: string, body: object = {}, headers = {}): Promise<KeyBody> {
  const answer = await manager.request<KeyBody>('POST', `/keys/${hash}/rotate`, body, headers);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  expect(answer.headers['cache-control']).toBe('no-store');
  return answer.body;
}

async function statusOf(key: string): Promise<number> {
  const client = installation.client(key);
  const { status } = await client.request('GET', '/key');
  await client.close();
  return status;
}

const statusesOf = (...keys: string[]): Promise<number[]> => Promise.all(keys.map(statusOf));

/** How long a key that works goes on working. */
const untilRefused = (key: string): Promise<number> =>
  feltFor('the key is refused', async () => (await statusOf(key)) === 401);

describe('POST /keys/{hash}/rotate', () => {
  it('gives the key another secret, and keeps its name, limit, spending and history', async () => {
    const { key, data } = await createKey({ limit: 1 });
    const client = installation.client(key);
    expect((await client.chat(CHAT)).status).toBe(200);
    await client.close();
    const rotated = await rotate(data.hash, { overlap_seconds: 3_600 });
    expect(rotated.key).toMatch(/^sk-sluice-v1-[0-9A-Za-z]{49}$/);
    expect(rotated.key).not.toBe(key);
    expect(hashApiKey(rotated.key)).not.toBe(data.hash);
    expect(rotated.data).toMatchObject({ hash: data.hash, name: data.name, limit: 1 });
    expect(rotated.data.label.slice(-3)).toBe(rotated.key.slice(-3));
    const leftMs = Date.parse(rotated.data.previous_key_expires_at!) - Date.now();
    expect(Math.abs(leftMs - 3_600_000)).toBeLessThan(60_000);
    const other = installation.client(rotated.key);
    expect((await other.chat(CHAT)).status).toBe(200);
    await other.close();
    expect(await statusOf(key)).toBe(200);
    const usage = await eventually('both calls are charged to the one key', 10_000, async () => {
      const { body } = await manager.request<KeyBody>('GET', `/keys/${data.hash}`);
      return body.data.usage > 0.000_015 ? body.data.usage : delay(50).then(() => undefined);
    });
    expect(usage).toBeCloseTo(0.000_016, 12);
    for (const path of ['/keys', `/keys/${data.hash}`]) {
      expect((await manager.request('GET', path)).text).not.toContain(rotated.key);
    }
  });

  it('lets the old secret work for a day where nothing is said', async () => {
    const { data } = await createKey();
    const { previous_key_expires_at: end } = (await rotate(data.hash)).data;
    expect(Math.abs(Date.parse(end!) - Date.now() - 86_400_000)).toBeLessThan(60_000);
  });

  it('ends the old secret at the end of the overlap', async () => {
    const { key, data } = await createKey();
    const { data: after, key: next } = await rotate(data.hash, { overlap_seconds: 3 });
    const endMs = Date.parse(after.previous_key_expires_at!);
    expect(await statusOf(key)).toBe(200);
    const lastUseMs = Date.now() + (await untilRefused(key));
    expect(Date.now()).toBeGreaterThanOrEqual(endMs - 500);
    expect(lastUseMs).toBeLessThan(endMs + FELT_WITHIN_MS);
    expect(await statusOf(next)).toBe(200);
    const { body } = await manager.request<KeyBody>('GET', `/keys/${data.hash}`);
    expect(body.data.previous_key_expires_at).toBeNull();
  });

  it.each([
    ['a rotation without an overlap', (hash: string) => rotate(hash, { overlap_seconds: 0 })],
    [
      'the early end of an overlap',
      async (hash: string): Promise<unknown> => {
        await rotate(hash);
        const { status, body } = await manager.request<KeyBody>('DELETE', `/keys/${hash}/rotation`);
        return expect([status, body.data.previous_key_expires_at]).toEqual([200, null]);
      },
    ],
    [
      'a second rotation',
      async (hash: string): Promise<unknown> => {
        await rotate(hash);
        return rotate(hash);
      },
    ],
    [
      'disabling the key',
      async (hash: string): Promise<unknown> => {
        await rotate(hash);
        return manager.request('PATCH', `/keys/${hash}`, { disabled: true });
      },
    ],
  ])('%s is felt by the old secret within a second', async (_what, end) => {
    const { key, data } = await createKey();
    expect(await statusOf(key)).toBe(200);
    await end(data.hash);
    expect(await untilRefused(key)).toBeLessThan(FELT_WITHIN_MS);
  });

  it('is undone by nothing when the key is deleted: both secrets stop within a second', async () => {
    const { key, data } = await createKey();
    const { key: next } = await rotate(data.hash);
    expect(await statusesOf(key, next)).toEqual([200, 200]);
    await manager.request('DELETE', `/keys/${data.hash}`);
    expect(await untilRefused(key)).toBeLessThan(FELT_WITHIN_MS);
    expect(await untilRefused(next)).toBeLessThan(FELT_WITHIN_MS);
    expect((await manager.request('POST', `/keys/${data.hash}/rotate`, {})).status).toBe(404);
  });

  it('leaves two secrets after rotations at the same time, the first of all ended', async () => {
    const { key, data } = await createKey();
    const rotated = await Promise.all(Array.from({ length: 6 }, () => rotate(data.hash)));
    await untilRefused(key);
    const statuses = await statusesOf(...rotated.map((each) => each.key));
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
  });

  it('is done once under one Idempotency-Key, for each key by itself', async () => {
    const [one, other] = [await createKey(), await createKey()];
    const headers = { 'idempotency-key': 'rotate-once' };
    const first = await rotate(one.data.hash, { overlap_seconds: 60 }, headers);
    const again = await rotate(one.data.hash, { overlap_seconds: 60 }, headers);
    expect(again).toEqual(first);
    expect(await statusesOf(one.key, first.key)).toEqual([200, 200]);
    const changed = await manager.request('POST', `/keys/${one.data.hash}/rotate`, { overlap_seconds: 61 }, headers);
    expectRefusal({ ...changed, body: changed.text }, 422);
    const elsewhere = await rotate(other.data.hash, { overlap_seconds: 60 }, headers);
    expect(elsewhere.data.hash).toBe(other.data.hash);
    expect(elsewhere.key).not.toBe(first.key);
  });

  it('lets a batch that was submitted with the old secret go on', async () => {
    const { key, data } = await createKey();
    const client = installation.client(key);
    const requests = chatRequests(linesOf('rotation', 3));
    const { body } = await client.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
    await client.close();
    const { key: next } = await rotate(data.hash, { overlap_seconds: 0 });
    const later = installation.client(next);
    const batch = await eventually('the batch completes', 30_000, async () => {
      const { body: now } = await later.getBatch(body.id);
      return now.status === 'completed' ? now : delay(50).then(() => undefined);
    });
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    // One that is submitted when the key has had its second secret for a while.
    const { body: second } = await later.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
    await eventually('the second batch completes', 30_000, async () =>
      (await later.getBatch(second.id)).body.request_counts.completed === 3 ? true : delay(50).then(() => undefined),
    );
    await later.close();
  });

  const bads: readonly (readonly [object, string])[] = [
    ...[-1, 0.5, 604_801, '60', null, true, {}].map(
      (overlap) => [{ overlap_seconds: overlap }, 'overlap_seconds'] as const,
    ),
    [{ overlap: 60 }, 'overlap'],
    [{ overlap_seconds: 60, key: 'mine' }, 'key'],
  ];

  it.each(bads)('refuses %j by the name of the field, and changes nothing', async (body, field) => {
    const { key, data } = await createKey();
    const answer = await manager.request('POST', `/keys/${data.hash}/rotate`, body);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(answer.text).toContain(field);
    expect(await statusOf(key)).toBe(200);
    const { body: after } = await manager.request<KeyBody>('GET', `/keys/${data.hash}`);
    expect(after.data.previous_key_expires_at).toBeNull();
  });

  it('is refused to an API key, and knows no key of another organization', async () => {
    const { key, data } = await createKey();
    const own = installation.client(key);
    const unknown = 'f'.repeat(64);
    const ask = (by: ApiClient, hash: string): Promise<ApiAnswer[]> =>
      Promise.all([by.request('POST', `/keys/${hash}/rotate`, {}), by.request('DELETE', `/keys/${hash}/rotation`)]);
    for (const answer of await ask(own, data.hash)) expectRefusal({ ...answer, body: answer.text }, 403);
    const [foreign, missing] = [await ask(stranger, data.hash), await ask(stranger, unknown)];
    for (const answer of foreign) expectRefusal({ ...answer, body: answer.text }, 404);
    expect(foreign.map(({ text }) => text)).toEqual(missing.map(({ text }) => text));
    expect((await manager.request('POST', '/keys/none/rotate', {})).status).toBe(404);
    const management = hashApiKey(installation.seed.managementKey);
    expect((await manager.request('POST', `/keys/${management}/rotate`, {})).status).toBe(404);
    expect(await statusOf(key)).toBe(200);
    await own.close();
  });

  it('is in the audit trail, with its end', async () => {
    const { data } = await createKey();
    const { key } = await rotate(data.hash);
    await manager.request('DELETE', `/keys/${data.hash}/rotation`);
    const trail = await manager.request<{ data: { action: string; status: number | null }[] }>(
      'GET',
      `/audit?target=${data.hash}`,
    );
    expect(trail.body.data.map(({ action, status }) => [action, status])).toEqual([
      ['DELETE /api/v1/keys/:hash/rotation', 200],
      ['POST /api/v1/keys/:hash/rotate', 201],
      ['POST /api/v1/keys', 201],
    ]);
    expect(trail.text).not.toContain(key);
  });
});
