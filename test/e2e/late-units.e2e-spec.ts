import type { ServerResponse } from 'node:http';
import { chatEnd, chunk, FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { settledBalanceUsd } from '../support/settled-balance';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** Pictures and tools of a provider that come after the last usage of a stream are on the bill of the caller. */

const BOOT_TIMEOUT_MS = 240_000;
const PATIENCE_MS = 30_000;
const START_USD = '100';
/** A picture, a search and a run of code. */
const COST_USD = 0.5 + 2 + 3;
const BREAKS_OFF = 'Break off.';

const MESSAGES = (text: string) => ({ messages: [{ role: 'user', content: text }], max_tokens: 40 });
const BODIES: Readonly<Record<string, (text: string) => object>> = {
  '/chat/completions': MESSAGES,
  '/responses': (text) => ({ input: text, max_output_tokens: 40 }),
  '/messages': MESSAGES,
};
const CASES = Object.keys(BODIES).flatMap((path) => [[path, 'Hi.'] as const, [path, BREAKS_OFF] as const]);

let upstream: FakeUpstream;
let installation: Installation;
let operator: Operator;

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

function stream(response: ServerResponse, { body }: ReceivedRequest): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    event(chunk({ content: 'Hi' }, { usage: { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 } })),
  );
  response.write(
    event(chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] })),
  );
  const executed = [
    { index: 0, type: 'search' },
    { index: 1, type: 'python' },
  ];
  const last = event(chunk({ executed_tools: executed }));
  if (!body.includes(BREAKS_OFF)) return void response.end(`${last}${event(chatEnd)}data: [DONE]\n\n`);
  response.write(last, () => response.socket?.end());
}

function catalogue(): string {
  const model = {
    slug: 'late/units',
    provider: 'late',
    baseUrl: `${upstream.origin}/v1`,
    pricing: { prompt: '0', completion: '0', image_output: '0.5', web_search: '2' },
    toolPricing: { code_interpreter: '3' },
  };
  return catalogueOf([model]);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = stream;
  installation = await shareInstallation({ apps: ['auth', 'gateway'], catalogue: catalogue() });
  operator = new Operator(installation);
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await giveBack(installation);
  await upstream?.close();
}, BOOT_TIMEOUT_MS);

async function ask({ apiKey }: Tenant, path: string, text: string): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'late/units', stream: true, ...BODIES[path]!(text) }),
  });
  expect(answer.status).toBe(200);
  return answer.text();
}

describe('pictures and tools after the last usage of a stream', () => {
  it.each(CASES)('are charged: %s, "%s"', async (path, text) => {
    const tenant = await operator.createTenant(`Late ${path} ${text}`, START_USD);
    const shown = await ask(tenant, path, text);
    expect(shown).toContain('Hi');
    const ledger = new LedgerRepository(installation.database);
    const left = await settledBalanceUsd(ledger, tenant.organizationId, PATIENCE_MS);
    expect(Number(START_USD) - left).toBeCloseTo(COST_USD, 9);
    if (text !== BREAKS_OFF) expect(Number([...shown.matchAll(/"cost":([\d.]+)/g)].at(-1)?.[1])).toBe(COST_USD);
    expect(await ledger.audit()).toEqual([]);
  });
});
