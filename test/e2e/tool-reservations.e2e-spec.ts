import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { settledBalanceUsd } from '../support/settled-balance';
import { Operator, type Tenant } from '../support/operator';
import { say } from '../support/say';
import { SearchingModel, searchingCatalogue } from '../support/searching-model';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** What calls under way may cost beyond the credit: an estimate of a prompt is at least 0.6 of its tokens. */
const MOST_SHARE = 1 / 0.6;
const CALLS = 100;
const LINES = 100;

let model: SearchingModel;
let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  installation = await shareInstallation({
    catalogue: searchingCatalogue(upstream.origin),
    apps: ['auth', 'gateway', 'batch-worker'],
  });
  ledger = new LedgerRepository(installation.database);
}, 240_000);

beforeEach(() => {
  model = new SearchingModel();
  upstream.behaviour = model.answer;
});

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

async function spentBy({ organizationId }: Tenant, creditUsd: number): Promise<number> {
  return creditUsd - (await settledBalanceUsd(ledger, organizationId, 120_000));
}

const SEARCH_OF_RESPONSES = { type: 'web_search' };
const SEARCH_OF_MESSAGES = { type: 'web_search_20250305', name: 'web_search' };
const messages = [{ role: 'user', content: 'Search.' }];

const BODIES: readonly (readonly [string, 'responses' | 'messages', object, number])[] = [
  [
    'a response without a cap',
    'responses',
    { input: 'Search.', max_output_tokens: 500, tools: [SEARCH_OF_RESPONSES] },
    5,
  ],
  [
    'a response with a cap',
    'responses',
    { input: 'Search.', max_output_tokens: 500, tools: [SEARCH_OF_RESPONSES], max_tool_calls: 12 },
    12,
  ],
  ['a message without a cap', 'messages', { messages, max_tokens: 500, tools: [SEARCH_OF_MESSAGES] }, 5],
  [
    'a message with a cap',
    'messages',
    { messages, max_tokens: 500, tools: [{ ...SEARCH_OF_MESSAGES, max_uses: 11 }] },
    11,
  ],
];

describe('a hundred calls at once whose provider searches as often as it may', () => {
  it.each(BODIES)('spend no more than was reserved: %s', async (name, api, body, searches) => {
    const creditUsd = 1;
    const tenant = await new Operator(installation).createTenant(name, String(creditUsd));
    const client = new ApiClient(installation.baseUrl, tenant.apiKey);
    const calls = Array.from({ length: CALLS }, () =>
      client.request('POST', `/${api}`, { model: `searching/${api}`, ...body }),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    await client.close();
    const spent = await spentBy(tenant, creditUsd);
    const answered = statuses.filter((status) => status === 200).length;
    say(`${name}: ${answered} of ${CALLS} answered, spent ${spent.toFixed(4)} of ${creditUsd} USD`);
    expect(statuses.filter((status) => status !== 200 && status !== 402)).toEqual([]);
    expect(new Set(model.searches)).toEqual(new Set([searches]));
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(CALLS);
    expect(spent).toBeLessThanOrEqual(creditUsd * MOST_SHARE);
  });

  it('is refused where all that it may do is not covered', async () => {
    const tenant = await new Operator(installation).createTenant('Poor', '0.06');
    const client = new ApiClient(installation.baseUrl, tenant.apiKey);
    const body = { input: 'Search.', max_output_tokens: 500, tools: [SEARCH_OF_RESPONSES], max_tool_calls: 20 };
    const { status } = await client.request('POST', '/responses', { model: 'searching/responses', ...body });
    await client.close();
    expect(status).toBe(402);
    expect(model.searches).toEqual([]);
  });
});

describe('an order at the provider whose lines search as often as they may', () => {
  const submit = async (client: ApiClient, tool: object) => {
    const body = { max_tokens: 500, tools: [tool], messages };
    const requests = Array.from({ length: LINES }, (_, at) => ({ custom_id: `l${at}`, body }));
    return client.request<{ id: string }>('POST', '/batches', {
      endpoint: '/v1/messages',
      model: 'searching/messages',
      requests,
    });
  };

  it.each([
    ['without a cap', SEARCH_OF_MESSAGES, 5, 30],
    ['with a cap', { ...SEARCH_OF_MESSAGES, max_uses: 8 }, 8, 60],
  ] as const)(
    'costs no more than was reserved for it: %s',
    async (name, tool, searches, creditUsd) => {
      const tenant = await new Operator(installation).createTenant(name, String(creditUsd));
      const client = new ApiClient(installation.baseUrl, tenant.apiKey);
      const { status, body } = await submit(client, tool);
      expect(status).toBe(202);
      const { heldUsd } = await ledger.accountOf(tenant.organizationId);
      const spent = await spentBy(tenant, creditUsd);
      const batch = await client.getBatch(body.id);
      await client.close();
      say(
        `${LINES} lines ${name}: reserved ${Number(heldUsd).toFixed(2)}, spent ${spent.toFixed(2)} of ${creditUsd} USD`,
      );
      expect(batch.body).toMatchObject({ status: 'completed', request_counts: { completed: LINES, failed: 0 } });
      expect(model.searches).toEqual(Array.from({ length: LINES }, () => searches));
      expect(spent).toBeGreaterThan(0);
      expect(spent).toBeLessThanOrEqual(Number(heldUsd));
    },
    180_000,
  );

  it('does not leave where its caps are not covered', async () => {
    const tenant = await new Operator(installation).createTenant('Small', '6');
    const client = new ApiClient(installation.baseUrl, tenant.apiKey);
    const { status } = await submit(client, { ...SEARCH_OF_MESSAGES, max_uses: 20 });
    await client.close();
    expect(status).toBe(402);
    expect(model.searches).toEqual([]);
  });
});
