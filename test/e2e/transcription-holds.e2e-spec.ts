import { FakeUpstream, waveFile } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { settledBalanceUsd } from '../support/settled-balance';
import { say } from '../support/say';

const CREDIT_USD = 0.05;
const CALLS = 40;
const PRICES = { prompt: '0.000015', completion: '0.000075' };
const PER_SECOND = '0.00005';
/** Of a request at PRICES. */
const OWN_WORDS_TOKENS = 28;
const AUDIO_TOKENS = 32;
const PATH = '/audio/transcriptions';
const ANSWER_DELAY_MS = 100;

type Config = { thinkingConfig?: { thinkingBudget?: number }; maxOutputTokens?: number };

let upstream: FakeUpstream;
let installation: Installation;
let ledger: LedgerRepository;
let isSilent = false;

/** Gemini: thinks as much as it may, and says as much as it may. */
function answerOfGoogle(body: string): object {
  const { generationConfig = {} } = JSON.parse(body) as { generationConfig?: Config };
  const { thinkingConfig, maxOutputTokens = 65_536 } = generationConfig;
  const thoughts = thinkingConfig?.thinkingBudget ?? 0;
  return {
    candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: OWN_WORDS_TOKENS + AUDIO_TOKENS,
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: AUDIO_TOKENS }],
      candidatesTokenCount: Math.max(0, maxOutputTokens - thoughts),
      thoughtsTokenCount: thoughts,
    },
  };
}

/** OpenAI: reads every text of the form. */
function answerOfOpenAi(body: string): object {
  const texts = [...body.matchAll(/name="(?:prompt|hotwords)"\r\n\r\n([^\r]*)/g)].map(([, text]) => text!);
  const text = Math.ceil(texts.join('').length / 4);
  return {
    text: 'Hi',
    usage: {
      type: 'tokens',
      input_tokens: 10 + text,
      input_token_details: { audio_tokens: 10, text_tokens: text },
      output_tokens: 1,
    },
  };
}

function answerTo(path: string, body: string): object {
  if (path.includes('generateContent')) return answerOfGoogle(body);
  if (path.endsWith('/audio/transcriptions')) return answerOfOpenAi(body);
  if (path.endsWith('/upload')) return { upload_url: 'https://cdn.test/1' };
  if (path.includes('/listen')) {
    return { metadata: { duration: 1 }, results: { channels: [{ alternatives: [{ transcript: 'Hi' }] }] } };
  }
  return { id: 't', status: 'completed', text: 'Hi', audio_duration: 1 };
}

function catalogue(): string {
  const model = (slug: string, protocol: string, more: Partial<TestModel> = {}): TestModel => ({
    slug: `s/${slug}`,
    provider: slug,
    protocol,
    baseUrl: protocol === 'google' ? `${upstream.origin}/v1beta` : upstream.baseUrl,
    apis: ['transcription'],
    pricing: PRICES,
    batch: 'none',
    ...more,
  });
  const parsed = JSON.parse(
    catalogueOf([
      model('openai', 'openai'),
      model('google', 'google', { upstreamModel: 'gemini-2.5-flash' }),
      model('assembly', 'assemblyai'),
      model('deep', 'deepgram'),
    ]),
  ) as { models: { slug: string; endpoints: Record<string, unknown>[] }[] };
  for (const { slug, endpoints } of parsed.models) {
    for (const endpoint of endpoints) {
      endpoint['context_length'] = null;
      endpoint['max_completion_tokens'] = null;
      endpoint['capabilities'] = { transcription: { diarize: true, keyterms: true, verbose_json: true } };
      if (!['s/openai', 's/google'].includes(slug)) endpoint['pricing'] = { audio_second: PER_SECOND };
    }
  }
  return JSON.stringify(parsed);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path, body }) => {
    if (isSilent) return;
    const answer = JSON.stringify(answerTo(path, body));
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), ANSWER_DELAY_MS);
  };
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { LEFTOVER_READ_MS: '100', UPSTREAM_TOTAL_TIMEOUT_MS: '8000' } },
  });
  ledger = new LedgerRepository(installation.database);
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 240_000);

beforeEach(() => {
  isSilent = false;
  upstream.requests.length = 0;
});

const input_audio = { data: waveFile(1).toString('base64'), format: 'wav' };
const asks = (slug: string, options: object = {}, more: object = {}): object => ({
  model: `s/${slug}`,
  input_audio,
  provider: { options: { [slug]: options } },
  ...more,
});

const spentBy = async ({ organizationId }: Tenant, creditUsd: number): Promise<number> =>
  creditUsd - Number(await settledBalanceUsd(ledger, organizationId, 60_000));

const recordsOf = ({ organizationId }: Tenant) =>
  installation.database.rows<{ hold: string; cost: string; state: string }>({
    sql: `SELECT hold_usd::text AS hold, cost_usd::text AS cost, state FROM generations WHERE organization_id = $1`,
    values: [organizationId],
  });

describe(`${CALLS} transcriptions at once with ${CREDIT_USD} USD`, () => {
  it.each([
    ['plain', asks('google'), true],
    ['a budget of thoughts', asks('google', { thinkingConfig: { thinkingBudget: 24_576 } }), false],
    ['a small budget of thoughts', asks('google', { thinkingConfig: { thinkingBudget: 64 } }), true],
    ['thoughts without end', asks('google', { thinkingConfig: { thinkingBudget: -1 } }), false],
    ['a level of thoughts', asks('google', { thinkingConfig: { thinkingLevel: 'HIGH' } }), false],
    ['a long answer', asks('google', { maxOutputTokens: 65_536 }), false],
    [
      'a cap below the thoughts',
      asks('google', { maxOutputTokens: 8, thinkingConfig: { thinkingBudget: 24_576 } }),
      true,
    ],
    ['no cap', asks('google', { maxOutputTokens: null }), true],
    ['a cap of text', asks('google', { maxOutputTokens: '65536' }), true],
    ['a long prompt', asks('openai', { prompt: 'word '.repeat(12_000) }), false],
    ['hot words', asks('openai', { hotwords: 'word '.repeat(12_000) }), false],
    ['a prompt', asks('openai', { prompt: 'word '.repeat(100) }), true],
  ])(
    'spend no more: %s',
    async (name, body, isServed) => {
      const tenant = await new Operator(installation).createTenant(name, String(CREDIT_USD));
      const client = new ApiClient(installation.baseUrl, tenant.apiKey);
      const answers = await Promise.all(Array.from({ length: CALLS }, () => client.request('POST', PATH, body)));
      await client.close();
      const spent = await spentBy(tenant, CREDIT_USD);
      const overages = (await recordsOf(tenant)).map(({ hold, cost }) => Number(cost) - Number(hold));
      const largest = Math.max(0, ...overages);
      const served = answers.filter(({ status }) => status === 200).length;
      say(`${name}: ${served} served, spent ${spent.toFixed(6)} USD, largest overage ${largest.toFixed(6)} USD`);
      expect(answers.filter(({ status }) => ![200, 402].includes(status))).toEqual([]);
      expect(served > 0).toBe(isServed);
      expect(largest).toBe(0);
      expect(spent).toBeLessThanOrEqual(CREDIT_USD);
    },
    120_000,
  );
});

describe('an option for which a provider charges more', () => {
  it.each([
    ['assembly', { entity_detection: true }, 'provider.options.assembly.entity_detection'],
    ['assembly', { redact_pii: true, redact_pii_policies: ['person_name'] }, 'provider.options.assembly.redact_pii'],
    ['deep', { redact: ['pci'] }, 'provider.options.deep.redact'],
    ['deep', { detect_entities: true }, 'provider.options.deep.detect_entities'],
  ])('is refused on the account of the operator: %s %j', async (slug, options, member) => {
    const { status, text } = await installation.client().request('POST', PATH, asks(slug, options));
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining(member) });
    expect(upstream.requests).toHaveLength(0);
  });

  it('is refused among the members of the request too', async () => {
    const { status, text } = await installation
      .client()
      .request('POST', PATH, asks('deep', {}, { keyterms: ['Sluice'] }));
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining('keyterms') });
    expect(upstream.requests).toHaveLength(0);
  });

  it('is no reason to refuse where it is off', async () => {
    const body = asks('assembly', { entity_detection: false, redact_pii: null, format_text: true });
    expect((await installation.client().request('POST', PATH, body)).status).toBe(200);
    expect(upstream.requests.map(({ body: sent }) => sent).join()).not.toMatch(/entity_detection|redact_pii/);
  });
});

it('costs a caller who leaves the most that the recording costs if it is as long as it says', async () => {
  isSilent = true;
  const tenant = await new Operator(installation).createTenant('Leaving', '5');
  const leaving = new AbortController();
  const body = JSON.stringify(asks('openai', { prompt: 'word '.repeat(1_000) }));
  const headers = { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' };
  const asked = fetch(installation.baseUrl + PATH, { method: 'POST', body, headers, signal: leaving.signal });
  await eventually('the provider is asked', 10_000, () => upstream.requests.length > 0 || undefined);
  leaving.abort();
  await expect(asked).rejects.toThrow();
  const spent = await spentBy(tenant, 5);
  const [{ hold, cost } = { hold: '', cost: '' }] = await recordsOf(tenant);
  // The file may be longer than it says: half of the credit was held, and what it says it is was charged.
  expect(Number(hold)).toBe(2.5);
  expect(Number(cost)).toBeCloseTo(spent, 9);
  expect(spent).toBeGreaterThan(0.015);
  expect(spent).toBeLessThan(0.05);
});
