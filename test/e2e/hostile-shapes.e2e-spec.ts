import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { eventually } from '../support/eventually';
import { GreedyModel, greedyCatalogue } from '../support/greedy-model';
import { hostileShapes, type HostileShape } from '../support/hostile-shapes';
import type { Installation } from '../support/installation';
import { settledBalanceUsd } from '../support/settled-balance';
import { Operator, type Tenant } from '../support/operator';
import type { UpstreamDialect } from '../support/provider-scripts';
import { say } from '../support/say';
import { giveBack, shareInstallation } from '../support/shared-installations';

const CREDIT_USD = 0.05;
const PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};
const SHAPES = hostileShapes(500);
const AT_ONCE = 4;
const ENDPOINTS: Readonly<Record<UpstreamDialect, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};

const model = new GreedyModel();
let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
let ledger: LedgerRepository;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = model.answer;
  installation = await shareInstallation({
    catalogue: greedyCatalogue(upstream.origin),
    apps: ['auth', 'gateway', 'batch-worker'],
  });
  tenant = await new Operator(installation).createTenant('Hostile', null);
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

const post = (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(installation.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });

async function send({ api, body, leaves }: HostileShape): Promise<number> {
  const leaving = new AbortController();
  const response = await post(PATHS[api], { model: `greedy/${api}`, ...body }, leaving.signal);
  if (leaves && response.ok) leaving.abort();
  else await response.text();
  return response.status;
}

/** Sends the same request in each line of a batch, and waits for its end. */
async function sendBatch({ api, body }: HostileShape): Promise<number> {
  const requests = Array.from({ length: AT_ONCE }, (_, line) => ({ custom_id: `line-${line}`, body }));
  const response = await post('/batches', { endpoint: ENDPOINTS[api], model: `greedy/${api}`, requests });
  const { id } = (await response.json()) as { id: string };
  if (response.status !== 202) return response.status;
  await eventually(`the batch ${id} ends`, 120_000, async () => {
    const found = await fetch(`${installation.baseUrl}/batches/${id}?results=false`, {
      headers: { authorization: `Bearer ${tenant.apiKey}` },
    });
    const { status } = (await found.json()) as { status: string };
    return status === 'completed' || status === 'failed' ? status : undefined;
  });
  return response.status;
}

const sendAll = async (shape: HostileShape): Promise<number[]> =>
  shape.isBatch ? [await sendBatch(shape)] : Promise.all(Array.from({ length: AT_ONCE }, () => send(shape)));

/** What the organization has once nothing is held any more. */
const balance = (): Promise<number> => settledBalanceUsd(ledger, tenant.organizationId, 20_000);

/** Tops up to exactly the credit. */
async function provide(left: number): Promise<void> {
  const missing = (CREDIT_USD - left).toFixed(12);
  await installation.database.transaction((session) =>
    ledger.topUp(tenant.organizationId, missing, `hostile-${Math.random()}`, session),
  );
}

it('lets 0.05 USD pay for no more than that and the overage of the calls under way, for 500 hostile requests', async () => {
  let left = await balance();
  let overdrawn = { usd: 0, by: 'none' };
  const beyond: string[] = [];
  const statuses = new Map<number, number>();
  for (const shape of SHAPES) {
    if (left < CREDIT_USD * (shape.isBatch ? 0.9 : 0.5)) await provide(left);
    const answers = await sendAll(shape);
    for (const status of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    left = await balance();
    // Each call that was under way may cost more than its estimate; a batch has several lines under way.
    const underWay = shape.isBatch ? AT_ONCE : answers.filter((status) => status === 200).length;
    if (-left > underWay * model.largestOverageUsd) beyond.push(`${shape.name}: ${left} USD`);
    if (-left > overdrawn.usd) overdrawn = { usd: -left, by: shape.name };
  }
  const all = JSON.stringify(Object.fromEntries(statuses));
  const largest = model.largestOverageUsd.toFixed(6);
  say(`largest overage ${largest} USD, overdraft ${overdrawn.usd.toFixed(6)} USD by ${overdrawn.by}; ${all}`);
  expect([...statuses.keys()].toSorted((one, other) => one - other)).toEqual([200, 202, 402]);
  expect(statuses.get(200)).toBeGreaterThan(SHAPES.length);
  expect(beyond).toEqual([]);
}, 900_000);
