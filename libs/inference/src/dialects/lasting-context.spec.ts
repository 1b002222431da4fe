import fc from 'fast-check';
import { anAnswerContext, anEndpoint } from '../testing';
import { totalToolCost } from '../pricing/tool-costs';
import type { UpstreamStream } from '../wire/upstream-stream';
import { dialectOf } from '.';
import { billAnswer } from './answer-billing';
import type { Answer, AnswerContext } from './dialect';
import { hiddenPictures } from './hidden-output';
import { lastingContext } from './lasting-context';
import { hidesThoughts } from './openai-chat/hidden-thoughts';
import { ownResponseMembers } from './openai-responses/relayed-answer';
import { readEcho, REPEATED_SETTINGS } from './openai-responses/response-object';
import { NO_COUNTS } from './reported-counts';
import { likelyPrompt, reservedPrompt } from './reserved-prompt';

const MICRO = 1_000_000_000_000n;
const LONG = 20_000;
const model = { ...anAnswerContext().model };
const painter = { ...model, architecture: { ...model.architecture, outputModalities: ['text', 'image'] as const } };
const endpoint = anEndpoint({
  apis: ['responses'],
  contextLength: 10,
  pricing: {
    prompt: 1n,
    completion: 1n,
    webSearch: 10_000n * MICRO,
    tools: { web_search_preview: 25_000n * MICRO, x_search: 5_000n * MICRO },
  },
});

const contextOf = (request: object): AnswerContext =>
  anAnswerContext({ endpoint, requestBody: Buffer.from(JSON.stringify(request)) });

describe('the provider tools that are charged', () => {
  const dialect = dialectOf('responses');
  const item = (type: string, more: object = {}) => ({ type, id: type, status: 'completed', ...more });
  const output = [
    item('web_search_call', { action: { type: 'search', query: 'a' } }),
    item('custom_tool_call', { name: 'x_keyword_search', input: '{}' }),
  ];
  const response = { id: 'resp_1', object: 'response', status: 'completed', output };
  const running = { ...response, status: 'in_progress', output: [] };
  const done = output.map((one, output_index) => ({ type: 'response.output_item.done', output_index, item: one }));
  const created = { type: 'response.created', response: running };
  const completed = { type: 'response.completed', response };

  const anyTools = fc.uniqueArray(
    fc.constantFrom('web_search', 'web_search_preview', 'web_search_preview_2025_03_11', 'x_search', 'custom'),
    { maxLength: 3 },
  );
  const listOf = (types: readonly string[]) => types.map((type) => ({ type }));
  const anyRequest = fc
    .record({ listed: anyTools, added: fc.array(anyTools, { maxLength: 2 }), hasOptions: fc.boolean() })
    .map(({ listed, added, hasOptions }) => ({
      ...(hasOptions && { web_search_options: {} }),
      ...(listed.length > 0 && { tools: listOf(listed) }),
      input: [
        ...added.map((types) => ({ type: 'additional_tools', tools: listOf(types) })),
        { role: 'user', content: 'Hi' },
      ],
    }));

  const streamed = async (request: object, events: readonly object[], isLeft: boolean): Promise<bigint> => {
    const { context } = lastingContext('responses', contextOf(request));
    const stream = await dialect.openStream!(sent(events, isLeft), context);
    if (isLeft) setImmediate(() => stream.cancel());
    for await (const _bytes of stream) continue;
    return toolCost(await stream.outcome);
  };
  const toolCost = ({ cost }: Pick<Answer, 'cost'>): bigint => totalToolCost(cost.toolCosts ?? new Map());

  it('are the same for a long request as for a short one, streamed or whole, wherever they are named', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const costs: bigint[] = [];
        for (const more of [{}, { metadata: { note: 'x'.repeat(LONG) } }]) {
          const asked = { ...request, ...more };
          costs.push(toolCost(dialect.readAnswer(Buffer.from(JSON.stringify(response)), contextOf(asked))));
          costs.push(await streamed(asked, [created, ...done, completed], false));
          costs.push(await streamed(asked, [created, ...done], true));
        }
        expect(new Set(costs).size).toBe(1);
        expect(costs[0]).toBeGreaterThan(0n);
      }),
      { numRuns: 60 },
    );
  });
});

describe(lastingContext.name, () => {
  const everything = {
    ...Object.fromEntries(REPEATED_SETTINGS.map((name, index) => [name, `${name} ${index}`])),
    n: 3,
    modalities: ['text'],
    reasoning: { exclude: true },
    include_reasoning: false,
    tools: [{ type: 'custom', name: 'mine' }, { type: 'web_search' }],
    messages: [{ role: 'user', content: 'x'.repeat(LONG) }],
    input: 'x'.repeat(LONG),
  };
  const seen = { contentUnits: 10_000_000, pictures: 0, audioBytes: 0 };
  const readers: Readonly<Record<string, (context: AnswerContext) => unknown>> = {
    'the bill of several choices': (context) => billAnswer(NO_COUNTS, seen, context, 'estimated'),
    'pictures unseen': (context) => hiddenPictures({ ...context, model: painter }, 0),
    'the prompt reserved': reservedPrompt,
    'the likely prompt': likelyPrompt,
  };
  const chat = { 'the wish to see no thoughts': (context: AnswerContext) => hidesThoughts(context.requestBody) };
  const responses = {
    'the settings repeated': (context: AnswerContext) => readEcho(context, 0),
    'the settings repeated into an upstream’s response': (context: AnswerContext) => {
      const { set, absent } = ownResponseMembers(context);
      return { set, absent: (['instructions', 'metadata', 'temperature', 'tools'] as const).map(absent) };
    },
  };

  it.each(
    (['chat', 'responses', 'messages'] as const).flatMap((api) =>
      Object.entries({ ...readers, ...(api === 'chat' && chat), ...(api === 'responses' && responses) }).map(
        ([name, read]) => [api, name, read] as const,
      ),
    ),
  )('keeps of a long request on %s what is read for %s', (api, _name, read) => {
    const whole = contextOf(everything);
    const { context, keptBytes } = lastingContext(api, whole);
    expect(keptBytes).toBeGreaterThan(0);
    expect(context.requestBody.length).toBeLessThan(LONG);
    expect(read(context)).toEqual(read(whole));
    expect(read(context)).not.toEqual(read(contextOf({})));
  });
});

/** @param isOpen whether it sends no more and does not end by itself */
function sent(events: readonly object[], isOpen: boolean): UpstreamStream {
  const left = events.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  const over = Promise.withResolvers<null>();
  const end = (): void => over.resolve(null);
  const read = async (): Promise<Buffer | null> => left.shift() ?? (isOpen ? over.promise : null);
  return { read, leave: () => (end(), 0), cancel: end, discard: end };
}
