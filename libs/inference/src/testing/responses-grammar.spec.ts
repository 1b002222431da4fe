import { dataOfEventStream, findResponsesGrammarProblems } from './responses-grammar';

type Event = Record<string, unknown>;

const response = (values: object): object => ({ id: 'gen-1', status: 'in_progress', output: [], ...values });
const text = (value: string): object => ({ type: 'output_text', text: value, annotations: [], logprobs: [] });
const message = (status: string, content: object[]): object => ({ id: 'msg', type: 'message', status, content });
const call = (status: string, args: string): object => ({ id: 'fc', type: 'function_call', status, arguments: args });
const thought = (status: string, values: object): object => ({ id: 'rs', type: 'reasoning', status, ...values });
const inText = { item_id: 'msg', output_index: 1, content_index: 0 };
const inCall = { item_id: 'fc', output_index: 2 };
const inSummary = { item_id: 'rs', output_index: 0, summary_index: 0 };

const BODY: readonly Event[] = [
  { type: 'response.created', response: response({}) },
  { type: 'response.in_progress', response: response({}) },
  { type: 'response.output_item.added', output_index: 0, item: thought('in_progress', { summary: [] }) },
  { type: 'response.reasoning_summary_part.added', ...inSummary, part: { type: 'summary_text', text: '' } },
  { type: 'response.reasoning_summary_text.delta', ...inSummary, delta: 'Hm' },
  { type: 'response.reasoning_summary_text.done', ...inSummary, text: 'Hm' },
  { type: 'response.reasoning_summary_part.done', ...inSummary, part: { type: 'summary_text', text: 'Hm' } },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: thought('completed', { summary: [{ type: 'summary_text', text: 'Hm' }] }),
  },
  { type: 'response.output_item.added', output_index: 1, item: message('in_progress', []) },
  { type: 'response.content_part.added', ...inText, part: text('') },
  { type: 'response.output_text.delta', ...inText, delta: 'Hel', logprobs: [] },
  { type: 'response.output_text.annotation.added', ...inText, annotation_index: 0, annotation: {} },
  { type: 'response.output_text.delta', ...inText, delta: 'lo', logprobs: [] },
  { type: 'response.output_text.done', ...inText, text: 'Hello', logprobs: [] },
  { type: 'response.content_part.done', ...inText, part: text('Hello') },
  { type: 'response.output_item.done', output_index: 1, item: message('completed', [text('Hello')]) },
  { type: 'response.output_item.added', output_index: 2, item: call('in_progress', '') },
  { type: 'response.function_call_arguments.delta', ...inCall, delta: '{}' },
  { type: 'response.function_call_arguments.done', ...inCall, name: 'f', arguments: '{}' },
  { type: 'response.output_item.done', output_index: 2, item: call('completed', '{}') },
  {
    type: 'response.completed',
    response: response({ status: 'completed', usage: {}, output: [{ id: 'rs' }, { id: 'msg' }, { id: 'fc' }] }),
  },
];

const ERROR = { code: 'server_error', message: 'x' };
const FAILURE = response({ status: 'failed', usage: {}, error_type: 'server', error: ERROR });
const FAILED = { type: 'response.failed', response: FAILURE, error: ERROR };

const numbered = (events: readonly Event[]): string[] => [
  ...events.map((event, index) => JSON.stringify({ sequence_number: index, ...event })),
  '[DONE]',
];
const problems = (events: readonly Event[]): string[] => findResponsesGrammarProblems(numbered(events));
const typed = (type: string): number => BODY.findIndex((event) => event['type'] === type);
const without = (type: string): Event[] => BODY.filter((_, index) => index !== typed(type));
const changed = (type: string, values: object): Event[] =>
  BODY.map((event, index) => (index === typed(type) ? { ...event, ...values } : event));
const swapped = (type: string): Event[] => {
  const events = [...BODY];
  const at = typed(type);
  [events[at], events[at + 1]] = [events[at + 1]!, events[at]!];
  return events;
};

describe(findResponsesGrammarProblems.name, () => {
  it('finds nothing wrong with a whole stream', () => expect(problems(BODY)).toEqual([]));

  it('lets debug events come first', () =>
    expect(problems([{ type: 'response.debug', debug: {} }, ...BODY])).toEqual([]));

  it('lets a failed stream leave items open', () => {
    const cut = BODY.slice(0, typed('response.output_text.done'));
    expect(problems([...cut, FAILED])).toEqual([]);
  });

  it.each(
    BODY.map((event, index) => [event['type'] as string, index] as const).filter(([type]) => !type.endsWith('delta')),
  )('notices that %s is missing at %i', (_type, index) => {
    const isHarmless = BODY[index]!['type'] === 'response.output_text.annotation.added';
    expect(problems(BODY.filter((_, at) => at !== index)).length > 0).toBe(!isHarmless);
  });

  it.each(BODY.filter((event) => String(event['type']).endsWith('delta')).map((event) => [BODY.indexOf(event)]))(
    'notices that the delta at %i is missing',
    (index) => expect(problems(BODY.filter((_, at) => at !== index))).not.toEqual([]),
  );

  it.each([
    ['a doubled beginning', [BODY[0]!, ...BODY]],
    ['a swapped beginning', swapped('response.created')],
    ['content before its item', swapped('response.output_item.added')],
    ['a text that ends early', swapped('response.output_text.done')],
    ['a second terminal event', [...BODY, FAILED]],
    ['an error that only the response names', [...BODY.slice(0, 2), { type: FAILED.type, response: FAILURE }]],
    ['an event after the terminal one', [...BODY, BODY[4]!]],
    ['a late debug event', [...BODY.slice(0, 2), { type: 'response.debug', debug: {} }, ...BODY.slice(2)]],
    [
      'an unknown event',
      [...BODY.slice(0, 3), { type: 'response.dance', output_index: 0, item_id: 'rs' }, ...BODY.slice(3)],
    ],
    ['an event without a type', [...BODY.slice(0, 3), { output_index: 0 }, ...BODY.slice(3)]],
    ['another output index', changed('response.output_item.added', { output_index: 1 })],
    ['another content index', changed('response.content_part.added', { content_index: 1 })],
    ['another annotation index', changed('response.output_text.annotation.added', { annotation_index: 1 })],
    ['another item id', changed('response.output_text.delta', { item_id: 'other' })],
    ['a delta of another kind', changed('response.output_text.delta', { type: 'response.refusal.delta' })],
    ['a text that does not add up', changed('response.output_text.done', { text: 'Hullo' })],
    ['a part that does not add up', changed('response.content_part.done', { part: text('Hullo') })],
    ['a part that begins with text', changed('response.content_part.added', { part: text('H') })],
    ['arguments that do not add up', changed('response.function_call_arguments.done', { arguments: '{"a":1}' })],
    ['a created response with output', changed('response.created', { response: response({ output: [{}] }) })],
    ['a created response that is over', changed('response.created', { response: response({ status: 'completed' }) })],
    ['a response that changes its id', changed('response.in_progress', { response: response({ id: 'gen-2' }) })],
    ['a terminal event of another status', changed('response.completed', { response: FAILURE })],
    [
      'an incomplete response without a reason',
      changed('response.completed', {
        type: 'response.incomplete',
        response: response({ status: 'incomplete', usage: {}, output: [{ id: 'rs' }, { id: 'msg' }, { id: 'fc' }] }),
      }),
    ],
    [
      'a last response without its items',
      changed('response.completed', {
        response: response({ status: 'completed', usage: {} }),
      }),
    ],
    [
      'a failed response without an error',
      [
        ...BODY.slice(0, 2),
        { type: 'response.failed', response: response({ status: 'failed', usage: {}, error: null }) },
      ],
    ],
    ['an item that stays open', without('response.function_call_arguments.done')],
  ])('notices %s', (_what, events) => expect(problems(events)).not.toEqual([]));

  it('notices numbers that do not count from 0', () => {
    const events = numbered(BODY);
    events[3] = events[3]!.replace('"sequence_number":3', '"sequence_number":4');
    expect(findResponsesGrammarProblems(events)).toEqual(['event 3: sequence_number is not 3']);
  });

  it('notices a missing, early or doubled [DONE], and what is no JSON', () => {
    const events = numbered(BODY);
    expect(findResponsesGrammarProblems(events.slice(0, -1))).not.toEqual([]);
    expect(findResponsesGrammarProblems([...events, '[DONE]'])).not.toEqual([]);
    expect(findResponsesGrammarProblems(['[DONE]'])).not.toEqual([]);
    expect(findResponsesGrammarProblems(['{', ...events.slice(1)])).not.toEqual([]);
    expect(findResponsesGrammarProblems([])).toEqual(['the stream does not end with [DONE]']);
  });
});

describe(dataOfEventStream.name, () => {
  it('reads what stands behind data, whatever else there is', () => {
    expect(dataOfEventStream(': hi\n\nevent: x\ndata: {"a":1}\n\ndata:b\ndata: c\n\n')).toEqual(['{"a":1}', 'b\nc']);
  });
});
