import type { AnswerStream } from '../../model/answer-stream';
import { anAnswerContext, anEndpoint } from '../../testing';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { TRANSLATIONS } from '../dialect-pairs';
import { dialectOf } from '..';
import { translateAnswer } from '../translated-answer';
import { TranslatedStream } from '../translated-stream';

const MICRO = 1_000_000_000_000n;
const DOLLARS = 1e12;
const endpoint = anEndpoint({
  apis: ['chat'],
  pricing: {
    prompt: 0n,
    completion: 0n,
    webSearch: 10_000n * MICRO,
    tools: { code_interpreter: 30_000n * MICRO, x_search: 5_000n * MICRO, browser_search: 20_000n * MICRO },
  },
});
const context = anAnswerContext({ endpoint });
const translation = { caller: TRANSLATIONS.get('messages')!.caller, upstream: TRANSLATIONS.get('chat')!.upstream };
const streamed = () => ({
  reader: translation.upstream.readStream(endpoint),
  writer: translation.caller.writeStream(context),
});

function sent(events: readonly object[], isOpen = false): UpstreamStream {
  const left = [...events.map((event) => JSON.stringify(event)), ...(isOpen ? [] : ['[DONE]'])];
  const over = Promise.withResolvers<null>();
  const end = (): void => over.resolve(null);
  const read = async (): Promise<Buffer | null> => {
    const data = left.shift();
    return data === undefined ? (isOpen ? over.promise : null) : Buffer.from(`data: ${data}\n\n`);
  };
  return { read, leave: () => (end(), 0), cancel: end, discard: end };
}

async function ended(stream: AnswerStream): Promise<number> {
  for await (const _bytes of stream) continue;
  return Number((await stream.outcome).cost.totalCost) / DOLLARS;
}

describe('the charge for tools that a provider ran for a chat completion', () => {
  const dialect = dialectOf('chat');
  const ran = [
    { index: 0, type: 'browser.search', arguments: '{}', output: 'x' },
    { index: 1, type: 'python', arguments: '{}', output: '4' },
    { index: 2, type: 'function', name: 'browser_search' },
  ];
  const cited = [{ type: 'url_citation', url_citation: { url: 'https://a.test', title: 'a' } }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const searched = { ...usage, server_tool_use: { web_search_requests: 3 } };
  const completion = (message: object, counts: object = usage) => ({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi', ...message } }],
    usage: counts,
  });
  const chunk = (delta: object, more: object = {}) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  });

  it.each<[string, object, object, number]>([
    ['searches that the usage counts', {}, searched, 0.03],
    ['calls that the usage counts', {}, { ...usage, server_side_tool_usage_details: { x_search_calls: 2 } }, 0.01],
    ['both once', {}, { ...searched, server_side_tool_usage_details: { web_search_calls: 4 } }, 0.04],
    ['the queries of Perplexity', {}, { ...usage, num_search_queries: 2 }, 0.02],
    ['tools that a message lists', { executed_tools: ran }, usage, 0.05],
    ['a list and the usage once', { executed_tools: [{ type: 'search' }, { type: 'search' }] }, searched, 0.03],
    ['an answer that cites pages', { annotations: cited }, usage, 0.01],
    ['citations of counted searches', { annotations: cited }, searched, 0.03],
    ['nothing for words that are none', { executed_tools: 'x', annotations: [5] }, { ...usage, server_tool_use: 1 }, 0],
    ['nothing for counts that are none', {}, { ...usage, server_tool_use: { web_search_requests: -1 } }, 0],
  ])('counts %s', async (_what, message, counts, dollars) => {
    const whole = Buffer.from(JSON.stringify(completion(message, counts)));
    expect(Number(dialect.readAnswer(whole, context).cost.totalCost) / DOLLARS).toBe(dollars);
    const events = [chunk({ content: 'Hi' }), chunk(message), { ...chunk({}), choices: [], usage: counts }];
    const stream = await dialect.openStream!(sent(events), context);
    expect(await ended(stream)).toBe(dollars);
    const translatedStream = TranslatedStream.open(sent(events), context, streamed());
    expect(await ended(await translatedStream)).toBe(dollars);
    const translated = translateAnswer(whole, context, translation);
    expect(Number(translated.cost.totalCost) / DOLLARS).toBe(dollars);
  });

  it('counts a tool once that the chunks of a stream repeat with its output', async () => {
    const begun = { index: 0, type: 'browser.search', arguments: '{}' };
    const events = [chunk({ executed_tools: [begun] }), chunk({ executed_tools: [{ ...begun, output: 'x' }] })];
    const end = { ...chunk({}), choices: [], usage };
    expect(await ended(await dialect.openStream!(sent([...events, end]), context))).toBe(0.02);
  });

  it('counts what ran before the caller left', async () => {
    const stream = await dialect.openStream!(sent([chunk({ executed_tools: ran })], true), context);
    const cost = ended(stream);
    setImmediate(() => stream.cancel());
    expect(await cost).toBe(0.05);
  });

  it('charges no more uses than a request may make', () => {
    const counts = { ...usage, server_tool_use: { web_search_requests: 1e6 } };
    const { cost } = dialect.readAnswer(Buffer.from(JSON.stringify(completion({}, counts))), context);
    expect(Number(cost.totalCost) / DOLLARS).toBe(1);
  });
});
