import type { UpstreamStream } from '../wire/upstream-stream';
import { anAnswerContext, anEndpoint } from '../testing';
import type { AnswerStream } from '../model/answer-stream';
import { callAbandoned } from '../model/cancellation';
import type { AnswerContext } from './dialect';
import { dialectOf } from '.';

const MICRO = 1_000_000_000_000n;
const endpoint = anEndpoint({
  apis: ['responses', 'messages'],
  pricing: {
    prompt: 0n,
    completion: 0n,
    webSearch: 10_000n * MICRO,
    tools: {
      file_search: 2_500n * MICRO,
      code_interpreter: 30_000n * MICRO,
      mcp: 0n,
      x_search: 5_000n * MICRO,
    },
  },
});
const PAINTED = { prompt: 0n, completion: 0n, tools: { image_generation: 40_000n * MICRO } };
const context = anAnswerContext({ endpoint });
const DOLLARS = 1e12;

function sent(events: readonly object[], isOpen = false): UpstreamStream {
  const left = events.map((event) => {
    const { type } = event as { type: string };
    return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const over = Promise.withResolvers<null>();
  const end = (): void => over.resolve(null);
  const read = async (): Promise<Buffer | null> => left.shift() ?? (isOpen ? over.promise : null);
  return { read, leave: () => (end(), 0), cancel: end, discard: end };
}

/** Sends no more after these, and is given up when the caller has left. */
function abandoned(events: readonly object[]): UpstreamStream {
  const upstream = sent(events, true);
  let isLeft = false;
  const read = async (): Promise<Buffer | null> => {
    const piece = await upstream.read();
    if (piece === null && isLeft) throw callAbandoned();
    return piece;
  };
  const leave = (): number => ((isLeft = true), upstream.leave());
  return { ...upstream, read, leave };
}

async function ended(stream: AnswerStream): Promise<number> {
  for await (const _bytes of stream) continue;
  return Number((await stream.outcome).cost.totalCost) / DOLLARS;
}

describe('the charge for tools that a provider ran', () => {
  describe('on responses', () => {
    const item = (type: string, more: object = {}) => ({ type, id: type, status: 'completed', ...more });
    const output = [
      item('file_search_call', { queries: ['_call"'] }),
      item('code_interpreter_call', { code: '1', container_id: 'c' }),
      item('web_search_call', { action: { type: 'search', query: 'a' } }),
      item('web_search_call', { action: { type: 'open_page', url: 'https://a.test' } }),
      item('file_search_call', { status: 'failed' }),
      item('mcp_call', { name: 'f', arguments: '{}' }),
      item('constructor_call'),
      item('__proto___call'),
      item('not_in_the_catalogue_call'),
      item('function_call', { name: 'file_search_call', call_id: 'c', arguments: '{}' }),
      item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] }),
    ];
    const response = {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output,
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    const created = {
      type: 'response.created',
      response: { ...response, status: 'in_progress', output: [], usage: null },
    };
    const done = output.map((one, index) => ({ type: 'response.output_item.done', output_index: index, item: one }));
    const dialect = dialectOf('responses');

    it('counts the items of a whole answer', () => {
      const { cost } = dialect.readAnswer(Buffer.from(JSON.stringify(response)), context);
      expect(Number(cost.totalCost) / DOLLARS).toBe(0.0425);
    });

    it.each([
      ['its items and its last event', output],
      ['its items alone', []],
    ])('counts a stream by %s', async (_by, last) => {
      const end = { type: 'response.completed', response: { ...response, output: last } };
      expect(await ended(await dialect.openStream!(sent([created, ...done, end]), context))).toBe(0.0425);
    });

    describe('of a request for the preview of web search', () => {
      const tools = { ...endpoint.pricing.tools, web_search_preview: 25_000n * MICRO };
      const asking = (...types: readonly string[]): AnswerContext => ({
        ...context,
        endpoint: anEndpoint({ ...endpoint, pricing: { ...endpoint.pricing, tools } }),
        requestBody: Buffer.from(JSON.stringify({ tools: types.map((type) => ({ type })) })),
      });
      const searched = { ...response, output: output.slice(2, 4) };
      const end = { type: 'response.completed', response: searched };

      it.each([
        [['web_search'], 0.01],
        [['web_search_preview'], 0.025],
        [['web_search_preview_2025_03_11'], 0.025],
        [['web_search', 'web_search_preview'], 0.025],
      ])('counts a search as one of %j', async (types, usd) => {
        const whole = dialect.readAnswer(Buffer.from(JSON.stringify(searched)), asking(...types));
        expect(Number(whole.cost.totalCost) / DOLLARS).toBe(usd);
        expect(await ended(await dialect.openStream!(sent([created, end]), asking(...types)))).toBe(usd);
        const stream = await dialect.openStream!(sent([created, done[2]!], true), asking(...types));
        const cost = ended(stream);
        setImmediate(() => stream.cancel());
        expect(await cost).toBe(usd);
      });
    });

    it('counts what ran before the caller left', async () => {
      const stream = await dialect.openStream!(sent([created, ...done.slice(0, 2)], true), context);
      const cost = ended(stream);
      setImmediate(() => stream.cancel());
      expect(await cost).toBe(0.0325);
    });

    it('counts what had begun when the caller left, for the provider goes on with it', async () => {
      const begun = { type: 'response.output_item.added', output_index: 2, item: item('code_interpreter_call') };
      const stream = await dialect.openStream!(abandoned([created, done[0]!, begun]), context);
      const cost = ended(stream);
      setImmediate(() => stream.cancel());
      expect(await cost).toBe(0.0325);
    });

    it('counts a partly sent picture once, also if the stream breaks', async () => {
      const painted = { ...context, endpoint: anEndpoint({ ...endpoint, pricing: PAINTED }) };
      const part = { output_index: 0, partial_image_index: 0, partial_image_b64: 'iVBORw0K' };
      const partial = { type: 'response.image_generation_call.partial_image', ...part };
      const end = { type: 'response.output_item.done', output_index: 0, item: item('image_generation_call') };
      const broken = await dialect.openStream!(sent([created, partial, partial]), painted);
      expect(await ended(broken)).toBe(0.04);
      const whole = { type: 'response.completed', response: { ...response, output: [] } };
      expect(await ended(await dialect.openStream!(sent([created, partial, end, whole]), painted))).toBe(0.04);
    });

    describe('of xAI', () => {
      const named = ['x_keyword_search', 'x_semantic_search', 'x_thread_fetch', 'x_user_search', 'of_the_caller'];
      const searches = named.map((name) => item('custom_tool_call', { id: name, name, input: '{"query":"q"}' }));
      const begun = searches.map((one, index) => ({
        type: 'response.output_item.added',
        output_index: index,
        item: { ...one, status: 'in_progress', input: '' },
      }));
      const ended3 = searches.map((one, index) => ({
        type: 'response.output_item.done',
        output_index: index,
        item: one,
      }));
      const counted = (details: object) => ({ ...response.usage, server_side_tool_usage_details: details });
      const costOf = (output: readonly object[], usage: object, asking = true): number => {
        const answer = dialect.readAnswer(Buffer.from(JSON.stringify({ ...response, output, usage })), of(asking));
        return Number(answer.cost.totalCost) / DOLLARS;
      };
      const of = (isAsked: boolean): AnswerContext => ({
        ...context,
        requestBody: Buffer.from(JSON.stringify({ tools: isAsked ? [{ type: 'x_search' }] : [{ type: 'custom' }] })),
      });

      it('counts searches of X, which stand in items of custom tools', async () => {
        expect(costOf(searches, response.usage)).toBe(0.02);
        const end = { type: 'response.completed', response: { ...response, output: searches } };
        expect(await ended(await dialect.openStream!(sent([created, ...begun, ...ended3, end]), of(true)))).toBe(0.02);
      });

      it('counts searches of X that had begun when the caller left', async () => {
        const stream = await dialect.openStream!(abandoned([created, ...begun]), of(true));
        const cost = ended(stream);
        setImmediate(() => stream.cancel());
        expect(await cost).toBe(0.02);
      });

      it('charges nothing for custom tools of the caller that have the same names', async () => {
        expect(costOf(searches, response.usage, false)).toBe(0);
        const end = { type: 'response.completed', response: { ...response, output: searches } };
        expect(await ended(await dialect.openStream!(sent([created, ...ended3, end]), of(false)))).toBe(0);
      });

      it('charges what the usage counts where that is more', async () => {
        const usage = counted({ x_search_calls: 3, code_interpreter_calls: 1, web_search_calls: 0, mcp_calls: 2 });
        expect(costOf([], usage)).toBe(0.045);
        expect(costOf(searches, usage)).toBe(0.05);
        const end = { type: 'response.completed', response: { ...response, output: [], usage } };
        expect(await ended(await dialect.openStream!(sent([created, end]), of(true)))).toBe(0.045);
      });
    });
  });

  describe('on messages', () => {
    const use = (name: string, more: object = {}) => ({ type: 'server_tool_use', id: name, name, input: {}, ...more });
    const content = [
      use('web_search'),
      use('bash_code_execution'),
      use('text_editor_code_execution'),
      use('constructor'),
      use('__proto__'),
      { type: 'mcp_tool_use', id: 'm', name: 'f', server_name: 's', input: {} },
      { type: 'tool_use', id: 't', name: 'code_execution', input: {} },
      { type: 'text', text: 'Hi' },
    ];
    const usage = { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 1 } };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage };
    const start = { type: 'message_start', message: { ...message, stop_reason: null, content: [] } };
    const blocks = content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]);
    const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, { type: 'message_stop' }];
    const dialect = dialectOf('messages');

    it('counts the blocks of a whole answer', () => {
      const { cost } = dialect.readAnswer(Buffer.from(JSON.stringify({ ...message, content })), context);
      expect(Number(cost.totalCost) / DOLLARS).toBe(0.07);
    });

    it('counts the blocks of a stream', async () => {
      expect(await ended(await dialect.openStream!(sent([start, ...blocks, ...end]), context))).toBe(0.07);
    });

    it('counts what ran before the caller left', async () => {
      const stream = await dialect.openStream!(sent([start, ...blocks.slice(0, 4)], true), context);
      const cost = ended(stream);
      setImmediate(() => stream.cancel());
      expect(await cost).toBe(0.04);
    });
  });
});
