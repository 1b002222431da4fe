import { hashApiKey } from '@libs/contracts';
import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { ApiClient } from '../support/client';
import { GreedyModel, greedyCatalogue } from '../support/greedy-model';
import type { Installation } from '../support/installation';
import { settledBalanceUsd } from '../support/settled-balance';
import { Operator, type Tenant } from '../support/operator';
import { say } from '../support/say';
import { giveBack, shareInstallation } from '../support/shared-installations';

const LIMIT_USD = 0.6;
/** An estimate is at least 0.6 of the tokens of a prompt, so what it reserves covers at least 0.6 of a bill. */
const MOST_USD = LIMIT_USD / 0.6;
const CALLS = 120;
const LOOPS = 60;
const BATCHES = 20;
const LINES = 4;

const model = new GreedyModel();
let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = model.answer;
  installation = await shareInstallation({
    catalogue: greedyCatalogue(upstream.origin),
    apps: ['auth', 'gateway', 'batch-worker'],
  });
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

/** Letters that natural text would not put in this order, so that it costs more than its estimate. */
const messages = [{ role: 'user', content: 'yxquvjazkoiwxqujvkaz ꙮ᚛ᚁᚂᚃ᚜ щъэюяё ~-#*_=. '.repeat(8) }];
const body = { messages, max_tokens: 8 };

/** Sends 200 requests of three kinds at once. Returns how many there were of each status. */
async function rush({ apiKey }: Tenant): Promise<Record<string, number>> {
  const client = new ApiClient(installation.baseUrl, apiKey);
  const call = (more: object = {}) =>
    client.request('POST', '/chat/completions', { model: 'greedy/chat', ...body, ...more });
  const requests = Array.from({ length: LINES }, (_, line) => ({ custom_id: `line-${line}`, body }));
  const batch = { endpoint: '/v1/chat/completions', model: 'greedy/chat', requests };
  const tools = [{ type: 'sluice:datetime' }];
  const answers = await Promise.all([
    ...Array.from({ length: BATCHES }, () => client.request<{ id: string }>('POST', '/batches', batch)),
    ...Array.from({ length: LOOPS }, () => call({ tools, max_tool_calls: 12 })),
    ...Array.from({ length: CALLS }, () => call()),
  ]);
  await client.close();
  const statuses: Record<string, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  return statuses;
}

/** Returns what the organization spent, once nothing is reserved any more. */
async function spentBy({ organizationId }: Tenant, creditUsd: number): Promise<number> {
  return creditUsd - (await settledBalanceUsd(ledger, organizationId, 180_000));
}

async function limitKey({ managementKey, apiKey }: Tenant): Promise<void> {
  const manager = new ApiClient(installation.baseUrl, managementKey);
  const { status } = await manager.request('PATCH', `/keys/${hashApiKey(apiKey)}`, { limit: LIMIT_USD });
  expect(status).toBe(200);
  await manager.close();
}

async function setBudget({ managementKey, workspaceId }: Tenant): Promise<void> {
  const manager = new ApiClient(installation.baseUrl, managementKey);
  const { status } = await manager.request('PUT', `/workspaces/${workspaceId}/budgets/daily`, { limit_usd: LIMIT_USD });
  expect(status).toBe(200);
  await manager.close();
}

describe('200 calls, loops of tools and batches at once', () => {
  it.each([
    ['the credits', String(LIMIT_USD), async () => {}],
    ['the limit of a key', '10', limitKey],
    ['a budget', '10', setBudget],
  ])(
    'spend no more than what %s cover at the least estimate',
    async (name, creditUsd, limit) => {
      const tenant = await new Operator(installation).createTenant(name, creditUsd);
      await limit(tenant);
      const statuses = await rush(tenant);
      const spent = await spentBy(tenant, Number(creditUsd));
      say(`${name}: spent ${spent.toFixed(6)} of ${LIMIT_USD} USD; ${JSON.stringify(statuses)}`);
      expect(Object.keys(statuses).filter((status) => !['200', '202', '402'].includes(status))).toEqual([]);
      expect(statuses['200']).toBeGreaterThan(0);
      expect(statuses['402']).toBeGreaterThan(0);
      expect(spent).toBeGreaterThan(LIMIT_USD / 2);
      expect(spent).toBeLessThanOrEqual(MOST_USD);
    },
    300_000,
  );
});
