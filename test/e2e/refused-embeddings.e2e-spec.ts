import { FakeUpstream } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { settledBalanceUsd } from '../support/settled-balance';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** 0.10 USD per million tokens. */
const PRICE = 0.0000001;
const MOST_TOKENS = 8_192;
const words = (count: number): string => 'alpha '.repeat(count).trim();

let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;
let chargedTokens = 0;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { body }) => {
    const { input } = JSON.parse(body) as { input: string[] };
    const tokens = input.map((text) => text.split(' ').length);
    if (tokens.some((count) => count > MOST_TOKENS)) {
      const error = { object: 'error', message: 'Input is too long: 9000 tokens', type: 'invalid_request_error' };
      // After others have been answered.
      setTimeout(() => {
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error));
      }, 50);
      return;
    }
    const total = tokens.reduce((sum, count) => sum + count, 0);
    chargedTokens += total;
    const data = input.map((_, index) => ({ object: 'embedding', index, embedding: [0.1, 0.2] }));
    const usage = { prompt_tokens: total, total_tokens: total };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'u', object: 'list', model: 'm', data, usage }));
  };
  const endpoint = (slug: string, provider: string, protocol: string): TestModel => ({
    slug,
    provider,
    protocol,
    baseUrl: `${upstream.origin}/v1`,
    apis: ['embeddings'],
    pricing: { prompt: PRICE.toFixed(7), completion: '0' },
  });
  installation = await shareInstallation({
    catalogue: catalogueOf([
      endpoint('acme/many-calls', 'acme-mistral', 'mistral'),
      endpoint('acme/one-size', 'acme-plain', 'openai'),
    ]),
    apps: ['auth', 'gateway'],
  });
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

async function embed(apiKey: string, body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${installation.baseUrl}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

it('charges what was embedded before an input was refused', async () => {
  const tenant = await new Operator(installation).createTenant('refused', '0.40');
  const input = [...Array.from({ length: 1_000 }, () => words(1_000)), words(9_000)];
  chargedTokens = 0;
  const statuses: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    const { status, text } = await embed(tenant.apiKey, { model: 'acme/many-calls', input });
    statuses.push(status);
    if (status === 400) expect(text).toContain('context_length_exceeded');
  }
  const balance = await settledBalanceUsd(ledger, tenant.organizationId, 30_000);
  expect(chargedTokens).toBeGreaterThan(1_000_000);
  expect(0.4 - balance).toBeCloseTo(chargedTokens * PRICE, 9);
  // Credits end it like any other use.
  expect(statuses.at(0)).toBe(400);
  expect(statuses.at(-1)).toBe(402);
});

it('charges an answer whose only flaw is that the provider passed over `dimensions`', async () => {
  const operator = new Operator(installation);
  const [tenant, other] = [await operator.createTenant('sized', '0.40'), await operator.createTenant('other', '0.40')];
  const asked = { model: 'acme/one-size', input: Array.from({ length: 50 }, () => words(1_000)), dimensions: 3 };
  chargedTokens = 0;
  for (let i = 0; i < 12; i += 1) {
    const { status, text } = await embed(tenant.apiKey, asked);
    expect([status, text]).toEqual([400, expect.stringContaining('dimensions')]);
  }
  expect(chargedTokens).toBe(600_000);
  const balance = await settledBalanceUsd(ledger, tenant.organizationId, 30_000);
  expect(0.4 - balance).toBeCloseTo(chargedTokens * PRICE, 9);
  // The endpoint did nothing wrong.
  expect((await embed(other.apiKey, { model: 'acme/one-size', input: ['alpha'] })).status).toBe(200);
});
