import { Logger } from '@nestjs/common';
import {
  createProviderAdapters,
  NativeBatchCaller,
  UpstreamHttp,
  type CallerParts,
  type CatalogueSource,
} from '@libs/inference';
import type { BatchesRepository, BatchWork } from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import type { NativeChoiceService } from '../native/native-choice.service';
import { BatchValidationService } from './batch-validation.service';

/** One batch that waits for validation, and what became of it. */
class OneBatch {
  failure: string | null = null;
  hasBegun = false;
  /** Inputs in each line, as the choice of the lane gets them. */
  embedded: readonly number[] = [];

  /** Numbers of the lines that are there. */
  seqs: readonly number[];

  constructor(
    readonly work: BatchWork,
    readonly bodies: readonly object[],
  ) {
    this.seqs = bodies.map((_, seq) => seq);
  }

  async claimValidation(): Promise<BatchWork> {
    return this.work;
  }

  async linesAfter(_work: BatchWork, afterSeq: number, page: { readonly lines: number }) {
    const seqs = this.seqs.filter((seq) => seq > afterSeq).slice(0, page.lines);
    return seqs.map((seq) => ({
      seq,
      customId: `c${seq}`,
      body: Buffer.from(JSON.stringify(this.bodies[seq] ?? this.bodies[0])),
    }));
  }

  async renewValidation(): Promise<boolean> {
    return true;
  }

  async beginProgress(_work: BatchWork, assign: (session: never) => Promise<void>): Promise<boolean> {
    await assign(null as never);
    this.hasBegun = true;
    return true;
  }

  async failValidation(_work: BatchWork, problem: string): Promise<boolean> {
    this.failure = problem;
    return true;
  }
}

/** What the catalogue says of the batch's provider. */
interface KnownProvider {
  readonly protocol?: string;
  readonly apis?: readonly string[];
  readonly pricing?: object;
  readonly isOwnKey?: boolean;
}

async function validated(endpoint: string, ...bodies: object[]): Promise<OneBatch> {
  return validatedAt(
    { protocol: 'openai', apis: ['chat', 'responses', 'messages', 'embeddings'], pricing: { webSearch: 1n } },
    endpoint,
    ...bodies,
  );
}

function validatedAt(known: KnownProvider | null, endpoint: string, ...bodies: object[]): Promise<OneBatch> {
  return validatedWith(known, endpoint, bodies);
}

/** @param seqs numbers of the lines that are stored, where that is not one for each body */
async function validatedWith(
  known: KnownProvider | null,
  endpoint: string,
  bodies: readonly object[],
  seqs?: readonly number[],
): Promise<OneBatch> {
  const work = {
    id: 'batch-1-a',
    number: 1n,
    createdOn: '2026-11-21',
    endpoint,
    model: 'acme/large',
    provider: 'acme',
    total: bodies.length,
    fence: 1n,
    isOwnKey: known?.isOwnKey === true,
  };
  const batch = new OneBatch(work, bodies);
  if (seqs !== undefined) batch.seqs = seqs;
  const choice = {
    assign: async (_session: unknown, _number: bigint, embedded: readonly number[]) => void (batch.embedded = embedded),
  } as unknown as NativeChoiceService;
  const endpoints =
    known === null
      ? []
      : [{ provider: { slug: 'acme', protocol: known.protocol }, apis: known.apis, pricing: known.pricing ?? {} }];
  const catalogue = { current: () => ({ findModel: () => ({ endpoints }) }) };
  await new BatchValidationService(
    batch as unknown as BatchesRepository,
    choice,
    catalogue as unknown as CatalogueSource,
    new NativeBatchCaller({ adapters: createProviderAdapters(new UpstreamHttp()) } as unknown as CallerParts),
    Object.assign(new ServicesEnv(), { SERVICE_NAME: 'gate' }),
  ).validateIfDue(work.id);
  return batch;
}

const MESSAGES = [{ role: 'user', content: 'Hello!' }];

describe(BatchValidationService.name, () => {
  beforeAll(() => Logger.overrideLogger(false));

  it.each([
    ['/v1/chat/completions', { messages: MESSAGES }],
    ['/v1/responses', { input: 'Hello!' }],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }],
    ['/v1/embeddings', { input: 'Hello!' }],
  ])('begins a batch of %s whose lines fit, with and without their model', async (endpoint, body) => {
    const batch = await validated(endpoint, body, { ...body, model: 'acme/large' }, { ...body, model: null });
    expect(batch).toMatchObject({ failure: null, hasBegun: true });
  });

  it.each([
    ['/v1/chat/completions', { messages: [] }, 'messages'],
    ['/v1/responses', { messages: MESSAGES }, 'input'],
    ['/v1/responses', { input: 'Hello!', store: true }, 'store'],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 0 }, 'max_tokens'],
    ['/v1/embeddings', { input: '' }, 'input'],
  ])('fails a batch of %s for the first line that does not fit: %j', async (endpoint, body, named) => {
    const fit = { messages: MESSAGES, input: 'Hello!', max_tokens: 5 };
    const batch = await validated(endpoint, endpoint === '/v1/embeddings' ? { input: 'x' } : fit, body, body);
    expect(batch.hasBegun).toBe(false);
    expect(batch.failure).toContain('requests[1].body: ');
    expect(batch.failure).toContain(named);
  });

  const part = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] };
  const toolResult = {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } }],
      },
    ],
  };
  const painted = { role: 'assistant', content: 'Here.', images: [{ image_url: { url: 'https://a.example/b.png' } }] };
  const spoken = { role: 'assistant', audio: { id: 'audio_1' } };
  const chat = { messages: MESSAGES };
  const message = { messages: MESSAGES, max_tokens: 5 };
  const search = { type: 'web_search', engine: 'exa' };

  it.each<[string, object, string]>([
    ['/v1/chat/completions', { ...chat, plugins: [{ id: 'web' }] }, 'plugins run in the gateway'],
    ['/v1/chat/completions', { ...chat, models: ['acme/small'] }, 'models cannot be used'],
    ['/v1/chat/completions', { ...chat, provider: { zdr: true } }, 'provider cannot be used'],
    ['/v1/chat/completions', { ...chat, speed: 'fast' }, 'speed cannot be used'],
    ['/v1/chat/completions', { ...chat, service_tier: 'priority' }, 'service_tier must be "auto" or "default"'],
    ['/v1/responses', { input: 'Hi', service_tier: 'flex' }, 'service_tier must be "auto" or "default"'],
    ['/v1/chat/completions', { ...chat, modalities: ['text', 'audio'] }, 'modalities may only hold "text"'],
    ['/v1/chat/completions', { ...chat, audio: { voice: 'x' } }, 'audio cannot be used'],
    ['/v1/chat/completions', { ...chat, image_config: {} }, 'image_config cannot be used'],
    [
      '/v1/chat/completions',
      { ...chat, tools: [{ type: 'gate:datetime' }] },
      'tools[0] (gate:datetime) is run by the gateway',
    ],
    ['/v1/chat/completions', { messages: [...MESSAGES, part] }, 'messages[1] holds more than text'],
    ['/v1/chat/completions', { messages: [...MESSAGES, painted] }, 'messages[1] holds more than text'],
    ['/v1/chat/completions', { messages: [...MESSAGES, spoken] }, 'messages[1] holds more than text'],
    ['/v1/responses', { input: 'Hello!', plugins: [{ id: 'web', enabled: true }] }, 'plugins run in the gateway'],
    ['/v1/responses', { input: 'Hello!', tools: [search] }, 'tools[0] (web_search) is run by the gateway'],
    [
      '/v1/responses',
      {
        input: [
          {
            type: 'function_call_output',
            call_id: 'a',
            output: [{ type: 'input_file', file_url: 'https://a.example/b.pdf' }],
          },
        ],
      },
      'input[0] holds more than text',
    ],
    ['/v1/messages', { ...message, plugins: [{ id: 'moderation' }] }, 'plugins run in the gateway'],
    ['/v1/messages', { ...message, speed: 'standard' }, 'speed cannot be used'],
    ['/v1/messages', { ...message, fallbacks: [{ model: 'acme/small' }] }, 'fallbacks cannot be used'],
    ['/v1/messages', { ...message, mcp_servers: [] }, 'mcp_servers cannot be used'],
    [
      '/v1/messages',
      { ...message, tools: [{ type: 'computer_20250124', name: 'computer' }] },
      'tools[0] (computer_20250124) cannot be used',
    ],
    [
      '/v1/messages',
      { ...message, tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'acme/large' }] },
      'tools[0] (advisor_20260301) cannot be used',
    ],
    [
      '/v1/messages',
      { ...message, output_config: { effort: 'high', task_budget: { type: 'tokens', total: 64_000 } } },
      'output_config.task_budget cannot be used',
    ],
    ['/v1/messages', { ...message, messages: [...MESSAGES, toolResult] }, 'messages[1] holds more than text'],
    ['/v1/embeddings', { input: 'x', input_type: 'query' }, 'input_type cannot be used'],
    ['/v1/embeddings', { input: 'x', provider: { only: ['acme'] } }, 'provider cannot be used'],
    ['/v1/embeddings', { input: [{ content: [{ type: 'text', text: 'x' }] }] }, 'input may only hold text or tokens'],
  ])('fails a batch of %s for %j, which a batch cannot carry', async (endpoint, body, problem) => {
    const fit = endpoint === '/v1/embeddings' ? { input: 'x' } : { messages: MESSAGES, input: 'x', max_tokens: 5 };
    const batch = await validated(endpoint, fit, body);
    expect(batch.failure).toContain(`requests[1].body: ${problem}`);
  });

  it.each<[string, object]>([
    ['/v1/chat/completions', { ...chat, service_tier: 'default' }],
    ['/v1/responses', { input: 'Hi', service_tier: null }],
    ['/v1/messages', { ...message, service_tier: 'standard_only' }],
    ['/v1/chat/completions', { ...chat, plugins: [], models: [], provider: {}, speed: null, modalities: ['text'] }],
    ['/v1/chat/completions', { ...chat, plugins: [{ id: 'web', enabled: false }], web_search_options: {} }],
    ['/v1/chat/completions', { ...chat, tools: [{ type: 'function', function: { name: 'look' } }] }],
    ['/v1/chat/completions', { messages: [{ role: 'assistant', content: 'Here.', images: [] }, ...MESSAGES] }],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'assistant', content: 'Here.', images: null, audio: null }, ...MESSAGES] },
    ],
    ['/v1/responses', { input: 'Hello!', tools: [{ type: 'web_search', engine: 'native' }] }],
    ['/v1/messages', { ...message, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['/v1/messages', { ...message, output_config: { effort: 'high', task_budget: null } }],
    ['/v1/embeddings', { input: [[1, 2], [3]] }],
  ])('begins a batch of %s with %j', async (endpoint, body) => {
    expect(await validated(endpoint, body)).toMatchObject({ failure: null, hasBegun: true });
  });

  it('needs a price for a tool of the provider, unless the caller pays the provider', async () => {
    const body = { input: 'Hi', tools: [{ type: 'web_search' }, { type: 'file_search' }] };
    const known = { protocol: 'openai', apis: ['responses'] };
    const unpriced = await validatedAt({ ...known, pricing: { webSearch: 1n } }, '/v1/responses', body);
    expect(unpriced.failure).toContain(
      'body: tools[1] (file_search) has no price here: it needs a provider key of your own',
    );
    for (const more of [{ pricing: { webSearch: 1n, tools: { file_search: 0n } } }, { isOwnKey: true }]) {
      expect((await validatedAt({ ...known, ...more }, '/v1/responses', body)).failure).toBeNull();
    }
  });

  it.each([
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].vector_store_ids'],
    [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools[0].container'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt.id'],
  ])("takes names in the provider's account only with an own key: %j", async (members, member) => {
    const body = { input: 'Hi', ...members };
    const route = {
      protocol: 'openai',
      apis: ['responses'],
      pricing: { tools: { file_search: 0n, code_interpreter: 0n } },
    };
    const shared = await validatedAt(route, '/v1/responses', body);
    expect(shared.failure).toContain(`${member} names something in the account of the provider`);
    expect((await validatedAt({ ...route, isOwnKey: true }, '/v1/responses', body)).failure).toBeNull();
  });

  it('leaves tools and searches of a provider to one that speaks the API itself', async () => {
    const translated = { protocol: 'anthropic', apis: ['messages'] };
    const hosted = { input: 'Hello!', tools: [{ type: 'web_search' }] };
    expect((await validatedAt(translated, '/v1/responses', hosted)).failure).toContain(
      'tools[0] (web_search) is no function',
    );
    const options = { ...chat, web_search_options: {} };
    expect((await validatedAt(translated, '/v1/chat/completions', options)).failure).toContain('web_search_options');
    expect((await validatedAt(null, '/v1/responses', hosted)).hasBegun).toBe(true);
  });

  it('names the first line whose response_format differs, where the provider takes one for all', async () => {
    const google = { protocol: 'google', apis: ['chat'] };
    const formatted = (properties: object): object => ({
      ...chat,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties } } },
    });
    const [one, same] = [formatted({ a: {}, b: {} }), formatted({ b: {}, a: {} })];
    const all = [one, same, formatted({ a: {} })];
    const batch = await validatedAt(google, '/v1/chat/completions', ...all);
    expect(batch.failure).toContain('requests[2].body: response_format differs');
    expect((await validatedAt(google, '/v1/chat/completions', chat, one)).failure).toContain('requests[1].body');
    expect((await validatedAt(google, '/v1/chat/completions', chat, chat)).hasBegun).toBe(true);
    expect((await validated('/v1/chat/completions', ...all)).hasBegun).toBe(true);
  });

  it('takes formats for the same that ask for the same, whatever their schema is called', async () => {
    const google = { protocol: 'google', apis: ['chat'] };
    const named = (name: string, schema?: object): object => ({
      ...chat,
      response_format: { type: 'json_schema', json_schema: { name, description: `the ${name}`, schema } },
    });
    const object = { ...chat, response_format: { type: 'json_object' } };
    const text = { ...chat, response_format: { type: 'text' } };
    const begun = async (...bodies: object[]): Promise<boolean> =>
      (await validatedAt(google, '/v1/chat/completions', ...bodies)).hasBegun;
    expect(await begun(named('a', { type: 'object' }), named('b', { type: 'object' }))).toBe(true);
    expect(await begun(chat, text, { ...chat, response_format: null })).toBe(true);
    expect(await begun(named('a', { type: 'object' }), named('a'))).toBe(false);
    expect(await begun(object, text)).toBe(false);
  });

  it('counts what each line embeds, as a provider takes so many inputs in one of its own batches', async () => {
    const inputs = ['Hello!', ['a', 'b', 'c'], [1, 2, 3], [[1, 2], [3]]];
    const batch = await validated('/v1/embeddings', ...inputs.map((input) => ({ input })));
    expect(batch.embedded).toEqual([1, 3, 1, 2]);
    expect((await validated('/v1/chat/completions', chat)).embedded).toEqual([]);
  });

  it('gives others a turn between large lines', async () => {
    const large = { messages: MESSAGES, values: Array.from({ length: 100_000 }, () => 7) };
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const { hasBegun } = await validated('/v1/chat/completions', ...Array.from({ length: 80 }, () => large));
    isOver = true;
    expect(hasBegun).toBe(true);
    expect(turns).toBeGreaterThan(3);
  });

  it('looks at the links of a line before anything else does', async () => {
    const links = Array.from({ length: 60_000 }, () => 'https://acme.example/');
    const { failure } = await validated('/v1/chat/completions', { messages: 'none', links });
    expect(failure).toMatch(/^requests\[0\]\.body: links\[\d+\] is beyond the number of links/);
  });

  it('fails a batch of an endpoint that no line can run on', async () => {
    expect((await validated('/v1/audio/speech', {})).failure).toBe('Requests on /v1/audio/speech cannot be run');
  });

  describe('of a batch whose lines are missing', () => {
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, seq) => seq);
    const begun = (total: number, seqs: readonly number[]): Promise<OneBatch> =>
      validatedWith(
        null,
        '/v1/chat/completions',
        numbers(total).map(() => chat),
        seqs,
      );

    it.each([
      ['the first', 5, [1, 2, 3, 4], 'requests[0] is not there'],
      ['one between', 5, [0, 1, 3, 4], 'requests[2] is not there'],
      ['the last', 5, [0, 1, 2, 3], 'requests[4] is not there'],
      ['all', 5, [], 'requests[0] is not there'],
      ['the last of a full page', 257, numbers(256), 'requests[256] is not there'],
      ['one beyond the first page', 600, numbers(600).filter((seq) => seq !== 300), 'requests[300] is not there'],
    ])('fails it: %s', async (_which, total, seqs, problem) => {
      const batch = await begun(total, seqs);
      expect(batch).toMatchObject({ failure: expect.stringContaining(problem), hasBegun: false });
    });

    it.each([5, 255, 256, 512])('fails one of %d lines that has one too many', async (total) => {
      const batch = await begun(total, numbers(total + 1));
      expect(batch).toMatchObject({ failure: expect.stringContaining('more than the'), hasBegun: false });
    });

    it.each([1, 255, 256, 257, 512])('begins one of %d lines that has them all', async (total) => {
      expect(await begun(total, numbers(total))).toMatchObject({ failure: null, hasBegun: true });
    });
  });
});
