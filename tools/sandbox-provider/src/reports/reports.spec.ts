import { SandboxClient } from '../testing/sandbox-client';

const DAY = new Date().toISOString().slice(0, 10);
const DAY_SECONDS = 86_400;
const SECONDS = Date.parse(`${DAY}T00:00:00Z`) / 1_000;
const OPENAI = `start_time=${SECONDS}&end_time=${SECONDS + DAY_SECONDS}&bucket_width=1d`;
const NEXT = new Date((SECONDS + DAY_SECONDS) * 1_000).toISOString();
const ANTHROPIC = `starting_at=${DAY}T00:00:00Z&ending_at=${NEXT}&bucket_width=1d`;
const USER = [{ role: 'user', content: 'Hello, how are you today?' }];

interface Line {
  readonly line_item?: string;
  readonly amount: { readonly value: number };
}

describe('reports of charges', () => {
  let provider: SandboxClient;

  beforeEach(async () => {
    provider = await SandboxClient.start();
  });

  afterEach(() => provider.close());

  const results = async (path: string): Promise<Record<string, unknown>[]> => {
    const { status, body } = await provider.get(path);
    expect(status).toBe(200);
    return body.data.flatMap((bucket: { results: Record<string, unknown>[] }) => bucket.results);
  };

  it('count what OpenAI’s APIs served, and charge it by the catalogue', async () => {
    const { body } = await provider.post('/v1/chat/completions', {
      model: 'sandbox-chat?cached_tokens=2',
      messages: USER,
    });
    await provider.post('/v1/chat/completions', { model: 'sandbox-chat?status=500', messages: USER });
    const { prompt_tokens: input, completion_tokens: output } = body.usage;
    expect(await results(`/v1/organization/usage/completions?${OPENAI}`)).toMatchObject([
      {
        model: 'sandbox-chat',
        input_tokens: input,
        input_cached_tokens: 2,
        output_tokens: output,
        num_model_requests: 1,
      },
    ]);
    const lines = (await results(`/v1/organization/costs?${OPENAI}`)) as unknown as Line[];
    const charged = Object.fromEntries(lines.map(({ line_item: item, amount }) => [item, amount.value]));
    expect(charged['sandbox-chat, input']).toBeCloseTo((input - 2) * 1e-7, 12);
    expect(charged['sandbox-chat, cached input']).toBeCloseTo(2 * 5e-8, 12);
    expect(charged['sandbox-chat, output']).toBeCloseTo(output * 4e-7, 12);
  });

  it('count embeddings apart', async () => {
    await provider.post('/v1/embeddings', { model: 'sandbox-embeddings', input: 'some words' });
    expect(await results(`/v1/organization/usage/embeddings?${OPENAI}`)).toMatchObject([{ num_model_requests: 1 }]);
    expect(await results(`/v1/organization/usage/completions?${OPENAI}`)).toEqual([]);
  });

  it('count messages in Anthropic’s form, in cents', async () => {
    const { body } = await provider.post('/v1/messages', { model: 'sandbox-messages', max_tokens: 50, messages: USER });
    const { input_tokens: input, output_tokens: output } = body.usage;
    expect(await results(`/v1/organizations/usage_report/messages?${ANTHROPIC}`)).toMatchObject([
      { model: 'sandbox-messages', service_tier: 'standard', uncached_input_tokens: input, output_tokens: output },
    ]);
    const lines = await results(`/v1/organizations/cost_report?${ANTHROPIC}`);
    expect(lines.map(({ token_type: type, amount }) => [type, Number(amount)])).toEqual([
      ['uncached_input_tokens', expect.closeTo(input * 1e-5, 10)],
      ['output_tokens', expect.closeTo(output * 4e-5, 10)],
    ]);
  });

  it('show what a person adds, and a surcharge', async () => {
    const charge = { form: 'openai', day: DAY, model: 'sandbox-chat', counts: { requests: 2 }, usd: { other: '0.5' } };
    const { body } = await provider.post('/sandbox/charges', { charges: [charge], surcharge_percent: 100 });
    expect(body).toEqual({ added: 1, surcharge_percent: 100 });
    const embedding = await provider.post('/v1/embeddings', { model: 'sandbox-embeddings', input: 'some words' });
    const lines = (await results(`/v1/organization/costs?${OPENAI}`)) as unknown as Line[];
    expect(lines.map(({ line_item: item, amount }) => [item, amount.value])).toEqual([
      ['sandbox-chat', 0.5],
      ['sandbox-embeddings, input', expect.closeTo(embedding.body.usage.total_tokens * 4e-8, 12)],
    ]);
    await provider.delete('/sandbox/charges');
    expect(await results(`/v1/organization/costs?${OPENAI}`)).toEqual([]);
  });

  it('come in pages of days', async () => {
    const week = `start_time=${SECONDS}&end_time=${SECONDS + 3 * DAY_SECONDS}&bucket_width=1d&limit=2`;
    const first = await provider.get(`/v1/organization/costs?${week}`);
    expect(first.body).toMatchObject({ object: 'page', has_more: true, data: [{}, {}] });
    const second = await provider.get(`/v1/organization/costs?${week}&page=${first.body.next_page}`);
    expect(second.body).toMatchObject({
      has_more: false,
      next_page: null,
      data: [{ start_time: SECONDS + 2 * DAY_SECONDS }],
    });
  });

  it.each([
    [{ form: 'x' }, 'form'],
    [{ form: 'openai', day: 'today' }, 'day'],
    [{ form: 'openai', day: DAY }, 'model'],
    [{ form: 'openai', day: DAY, model: 'm', counts: { requests: -1 } }, 'counts.requests'],
    [{ form: 'openai', day: DAY, model: 'm', usd: { other: 1 } }, 'usd.other'],
    [{ form: 'openai', day: DAY, model: 'm', usd: { colour: '1' } }, 'usd'],
  ])('refuse the charge %j for its %s', async (charge, param) => {
    const { status, body } = await provider.post('/sandbox/charges', { charges: [charge] });
    expect([status, body.error.param]).toEqual([400, param]);
  });

  it('refuse a range and a width that they do not have', async () => {
    for (const query of ['', OPENAI.replace('1d', '1h'), `${OPENAI}&limit=500`, `${OPENAI}&page=x`]) {
      expect((await provider.get(`/v1/organization/costs?${query}`)).status).toBe(400);
    }
  });
});
