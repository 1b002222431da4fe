import { hashApiKey } from '@libs/contracts';
import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { greedyCatalogue, GreedyModel } from '../support/greedy-model';
import type { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { settledBalanceUsd } from '../support/settled-balance';
import { giveBack, shareInstallation } from '../support/shared-installations';

const CREDIT_USD = 20;
const LOWERED_USD = 0.05;
const TURN_MS = 700;
/** Four turns of some five thousand tokens are held when the request begins. */
const MOST_TURNS_HELD = 4;

describe('a tool loop whose terms change while it runs', () => {
  const model = new GreedyModel();
  let upstream: FakeUpstream;
  let installation: Installation;
  let ledger: LedgerRepository;
  let manager: ApiClient;
  let tenant: Tenant;
  let turns = 0;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    upstream.behaviour = (response, request) => {
      turns += 1;
      setTimeout(() => model.answer(response, request), TURN_MS);
    };
    const catalogue = greedyCatalogue(upstream.origin, { contextLength: 200_000 });
    installation = await shareInstallation({ catalogue, apps: ['auth', 'gateway'] });
    ledger = new LedgerRepository(installation.database);
  }, 240_000);

  afterAll(async () => {
    await giveBack(installation);
    await upstream?.close();
  }, 240_000);

  const key = (): string => `/keys/${hashApiKey(tenant.apiKey)}`;
  const budget = (): string => `/workspaces/${tenant.workspaceId}/budgets/daily`;

  it.each<[string, () => Promise<{ status: number }>]>([
    ['the limit of its key is lowered', () => manager.request('PATCH', key(), { limit: LOWERED_USD })],
    ['a budget is lowered', () => manager.request('PUT', budget(), { limit_usd: LOWERED_USD })],
    ['its key is disabled', () => manager.request('PATCH', key(), { disabled: true })],
    ['its key is deleted', () => manager.request('DELETE', key())],
  ])(
    'ends after the turns that were held when %s',
    async (name, change) => {
      turns = 0;
      tenant = await new Operator(installation).createTenant(name, String(CREDIT_USD));
      manager = new ApiClient(installation.baseUrl, tenant.managementKey);
      await manager.request('PATCH', key(), { limit: 10 });
      await manager.request('PUT', budget(), { limit_usd: 10 });

      const body = {
        model: 'greedy/chat',
        max_tokens: 8,
        messages: [{ role: 'user', content: 'apple '.repeat(5_000) }],
        tools: [{ type: 'sluice:datetime' }],
        max_tool_calls: 30,
      };
      const running = fetch(`${installation.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      await eventually('the second turn', 30_000, () => (turns >= 2 ? true : undefined));

      expect((await change()).status).toBeLessThan(300);
      const answer = await running;
      const { choices } = (await answer.json()) as { choices: readonly { native_finish_reason: string }[] };

      expect(answer.status).toBe(200);
      expect(choices[0]!.native_finish_reason).toBe('insufficient_credits');
      expect(turns).toBeLessThanOrEqual(MOST_TURNS_HELD + 1);
      const spentUsd = CREDIT_USD - (await settledBalanceUsd(ledger, tenant.organizationId, 30_000));
      process.stdout.write(`${name}: ${turns} turns, ${spentUsd.toFixed(4)} USD\n`);

      await manager.close();
    },
    120_000,
  );
});
