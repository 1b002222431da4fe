import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { TURN_COUNTS, turnsBy, type TurnScript } from '../support/turn-scripts';
import { expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

type Json = Readonly<Record<string, unknown>>;

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const JUDGE_PRICES = { prompt: '0.000000011', completion: '0.000000013' };
const RULES = ['Name no competitor', 'Be polite'];

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;
let verdicts: TurnScript;
/** What the judge says first; `verdicts` is what it says then. */
let firstVerdict: TurnScript | null;
/** What the judge waits for before it answers. */
let judgement: Promise<void>;
/** Requests that the model and its judge got, since the last test. */
let asked: string[];
let judged: string[];

const verdict = (...probabilities: number[]): TurnScript => ({
  text: JSON.stringify({ rules: probabilities.map((probability) => ({ applicable: true, probability })) }),
});

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => {
    const isJudge = request.path.startsWith('/judge');
    (isJudge ? judged : asked).push(request.body);
    const says = (isJudge && judged.length === 1 && firstVerdict) || verdicts;
    const answer = turnsBy(() => (isJudge ? says : { text: 'Buy at Acme.' }));
    void (isJudge ? judgement : Promise.resolve()).then(() => answer(response, request));
  };
  const modelOf = (name: string, pricing: typeof PRICES) => ({
    slug: `aligned/${name}`,
    provider: `aligned-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    protocol: 'openai',
    apis: ['chat'],
    pricing,
  });
  installation = await Installation.start({
    catalogue: catalogueOf([modelOf('chat', PRICES), modelOf('judge', JUDGE_PRICES)]),
    apps: ['auth', 'gateway'],
    environmentOf: { gateway: { ALIGNMENT_MODEL: 'aligned/judge' } },
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await upstream?.close();
});

beforeEach(() => {
  [asked, judged] = [[], []];
  judgement = Promise.resolve();
  verdicts = verdict(0.1, 0);
  firstVerdict = null;
});

const CHAT = { model: 'aligned/chat', messages: [{ role: 'user', content: 'Where do I buy?' }] };
const RESPONSE = { model: 'aligned/chat', input: 'Where do I buy?' };

const ask = (path: string, request: Json, settings: object = {}): Promise<ApiAnswer<Json>> =>
  client.request<Json>('POST', path, { ...request, plugins: [{ id: 'alignment', rules: RULES, ...settings }] });

const costAt = ({ prompt, completion }: typeof PRICES): bigint =>
  amountOf(prompt) * BigInt(TURN_COUNTS.prompt) + amountOf(completion) * BigInt(TURN_COUNTS.completion);

/** Returns how a call ended, after a look at its charge: so many answers, each with its judgement. */
async function bookedOf({ headers }: ApiAnswer<Json>, answers = 1n) {
  const row = await settledGeneration(installation.database, String(headers['x-generation-id']));
  expect(textOf(amountOf(row.cost))).toBe(textOf(answers * (costAt(PRICES) + costAt(JUDGE_PRICES))));
  return row;
}

/** The caller pays for an answer that is refused, so its usage is next to the error. */
function expectRefusedAnswer(answer: ApiAnswer<Json>, status: number): void {
  const { usage, ...body } = answer.body;
  expect(usage).toMatchObject({ cost: expect.anything() as unknown });
  expectRefusal({ status: answer.status, headers: answer.headers, body }, status);
}

describe('the plugin alignment', () => {
  it.each([
    ['/chat/completions', CHAT],
    ['/responses', RESPONSE],
  ])('has whole answers on %s judged, and charges the judgement on the row of the call', async (path, request) => {
    const answer = await ask(path, request);
    expect(answer.status).toBe(200);
    expect(answer.body['alignment']).toEqual({
      calls: [
        {
          call: 1,
          outcome: 'allowed',
          rules: [
            { applicable: true, broken: false, probability: 0.1 },
            { applicable: true, broken: false, probability: 0 },
          ],
        },
      ],
    });
    expect(asked).toEqual([expect.stringContaining('- Name no competitor')]);
    expect(judged).toEqual([expect.stringContaining('Buy at Acme.')]);
    const row = await bookedOf(answer);
    expect(row).toMatchObject({ outcome: 'completed' });
    const usage = answer.body['usage'] as { cost: string };
    expect(textOf(amountOf(usage.cost))).toBe(textOf(amountOf(row.cost)));
  });

  it.each([
    ['/chat/completions', CHAT],
    ['/responses', RESPONSE],
  ])(
    'refuses an answer on %s that breaks a rule, and the one asked for in its place, and charges both',
    async (path, request) => {
      verdicts = verdict(0.9, 0);
      const answer = await ask(path, request);
      expectRefusedAnswer(answer, 403);
      const blocked = { outcome: 'blocked', rules: [{ broken: true }, {}] };
      const calls = [1, 2].map((call) => ({ call, ...blocked }));
      expect(answer.body).toMatchObject({ error: { metadata: { alignment: { calls, rejected: [1, 2] } } } });
      expect(answer.text).not.toContain('Acme');
      const row = await bookedOf(answer, 2n);
      expect(row).toMatchObject({ outcome: 'failed' });
      const usage = answer.body['usage'] as { cost: string };
      expect(textOf(amountOf(usage.cost))).toBe(textOf(amountOf(row.cost)));
    },
  );

  it.each([
    ['/chat/completions', CHAT],
    ['/responses', RESPONSE],
  ])('asks again on %s in place of a blocked answer, and records what each cost', async (path, request) => {
    firstVerdict = verdict(0.9, 0);
    const answer = await ask(path, request);
    expect(answer.status).toBe(200);
    expect(answer.body['alignment']).toMatchObject({ calls: [{ outcome: 'blocked' }, { outcome: 'allowed' }] });
    const row = await bookedOf(answer, 2n);
    expect(row).toMatchObject({ outcome: 'completed' });
    const usage = answer.body['usage'] as { cost: string };
    expect(textOf(amountOf(usage.cost))).toBe(textOf(amountOf(row.cost)));
    const [{ asked: others } = { asked: [] }] = await installation.database.rows<{ asked: { provider: string }[] }>({
      sql: "SELECT details -> 'asked' AS asked FROM generations WHERE id = $1",
      values: [String(answer.headers['x-generation-id'])],
    });
    expect(others.map(({ provider }) => provider)).toEqual(['aligned-judge', 'aligned-chat', 'aligned-judge']);
  });

  it('refuses the first blocked answer where no retry is wanted', async () => {
    verdicts = verdict(0.9, 0);
    const answer = await ask('/chat/completions', CHAT, { max_retries: 0 });
    expectRefusedAnswer(answer, 403);
    expect(asked).toHaveLength(1);
    await bookedOf(answer);
  });

  it('lets no answer through without a verdict', async () => {
    verdicts = { text: 'I would rather not.' };
    const answer = await ask('/chat/completions', CHAT);
    expectRefusedAnswer(answer, 503);
    expect(answer.text).toContain('"outcome":"unavailable"');
    expect(answer.text).not.toContain('Acme');
    await bookedOf(answer);
  });

  it('lets no answer through while the model that judges fails, and charges the answer only', async () => {
    verdicts = { status: 400 };
    const answer = await ask('/chat/completions', CHAT);
    expectRefusedAnswer(answer, 503);
    expect(answer.text).not.toContain('Acme');
    const row = await settledGeneration(installation.database, String(answer.headers['x-generation-id']));
    expect(textOf(amountOf(row.cost))).toBe(textOf(costAt(PRICES)));
  });

  it('judges what a model says in turns with tools of the gateway', async () => {
    verdicts = verdict(0, 0.9);
    const answer = await ask('/chat/completions', { ...CHAT, tools: [{ type: 'sluice:datetime' }] });
    expectRefusedAnswer(answer, 403);
    expect(answer.text).not.toContain('Acme');
    expect(await bookedOf(answer)).toMatchObject({ outcome: 'failed' });
  });

  it('only reports in an audit', async () => {
    verdicts = verdict(0.9, 0);
    const answer = await ask('/chat/completions', CHAT, { mode: 'audit', instruct: false });
    expect(answer.status).toBe(200);
    expect(answer.body['alignment']).toMatchObject({ calls: [{ outcome: 'blocked' }] });
    expect(asked[0]).not.toContain('competitor');
    expect(await bookedOf(answer)).toMatchObject({ outcome: 'completed' });
  });

  it('costs a caller who disconnects while the answer is judged the answer and the judgement', async () => {
    const before = await installation.database.rows<{ id: string }>({ sql: 'SELECT id FROM generations', values: [] });
    let give = (): void => undefined;
    judgement = new Promise((resolve) => (give = resolve));
    const leaving = new AbortController();
    const body = { ...CHAT, plugins: [{ id: 'alignment', rules: RULES }] };
    const answer = fetch(`${installation.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    await eventually('the answer is judged', 10_000, () => (judged.length === 1 ? true : undefined));
    leaving.abort();
    await expect(answer).rejects.toThrow();
    // The gateway reads what is sent after the end of the connection only after that end.
    for (let round = 0; round < 2; round += 1) await client.request('GET', '/key');
    give();
    const id = await eventually('the call is recorded', 10_000, async () => {
      const rows = await installation.database.rows<{ id: string }>({ sql: 'SELECT id FROM generations', values: [] });
      return rows.find((row) => before.every((one) => one.id !== row.id))?.id;
    });
    const row = await settledGeneration(installation.database, id);
    expect(row.outcome).toBe('cancelled');
    expect(textOf(amountOf(row.cost))).toBe(textOf(costAt(PRICES) + costAt(JUDGE_PRICES)));
  });

  it('refuses streams before a model is asked', async () => {
    expectRefusal(await ask('/chat/completions', { ...CHAT, stream: true }), 400);
    expectRefusal(await ask('/responses', RESPONSE, { max_retries: 4 }), 400);
    expect([...asked, ...judged]).toEqual([]);
  });
});
