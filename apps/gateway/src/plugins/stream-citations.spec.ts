import { AppError } from '@libs/errors';
import { APIS, type AnswerStream, type StreamCiter, frameData, joinFrames, type AnswerFrame } from '@libs/inference';
import { dataOfEventStream, findResponsesGrammarProblems, framesOf, textOf } from '@libs/inference/testing';
import { ChangedStream } from './changed-stream';

const URL = 'https://a.example/1';
const SOURCES = [
  { type: 'url-citation' as const, url: URL, title: 'One', content: 'The first.' },
  { type: 'url-citation' as const, url: 'https://b.example', title: 'Two' },
];
const HEAD = { generationId: 'gen-1', model: 'acme/m', provider: 'Acme' };
const TEXT = `See [One](${URL}).`;
const OWN = { type: 'url_citation', url: 'https://own.example', title: 'Own', start_index: 0, end_index: 3 };
const OURS = [
  { type: 'url_citation', url: URL, title: 'One', start_index: 4, end_index: 30 },
  { type: 'url_citation', url: 'https://b.example', title: 'Two', start_index: 0, end_index: TEXT.length },
];

type Json = Readonly<Record<string, unknown>>;

const numbered = (events: readonly Json[]): AnswerFrame[] =>
  events.flatMap((event, index) => framesOf(`data: ${JSON.stringify({ sequence_number: index, ...event })}\n\n`));

async function cited(
  citer: StreamCiter,
  frames: readonly AnswerFrame[],
  end: readonly AnswerFrame[] = [],
): Promise<string[]> {
  const inner = {
    outcome: new Promise(() => {}),
    cancel: () => undefined,
    lastWords: () => end,
    async *[Symbol.asyncIterator]() {
      yield frames.slice(0, 3);
      for (const frame of frames.slice(3)) yield [frame];
    },
  };
  const stream = new ChangedStream(inner as unknown as AnswerStream, (frame) => citer.cite(frame));
  const text = await textOf(stream);
  return dataOfEventStream(text + joinFrames(stream.lastWords(new AppError('server', 'Stop'))).toString());
}

describe('sources of a streamed response', () => {
  const at = { item_id: 'msg_1', output_index: 1, content_index: 0 };
  const message = (id: string, text: string, annotations: readonly object[]): Json => ({
    id,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations, logprobs: [] }],
  });
  const thought = { id: 'rs_1', type: 'reasoning', summary: [], status: 'completed' };
  const opened = (output_index: number, item: Json): Json => ({
    type: 'response.output_item.added',
    output_index,
    item: { ...item, status: 'in_progress', ...(item['type'] === 'message' && { content: [] }) },
  });
  const said = (place: object, text: string, annotations: readonly object[]): Json[] => [
    {
      type: 'response.content_part.added',
      ...place,
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    },
    { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] },
    ...annotations.map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      ...place,
      annotation_index,
      annotation,
    })),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: { type: 'output_text', text, annotations, logprobs: [] } },
  ];
  const response = (status: string, output: readonly Json[]): Json => ({
    id: 'gen-1',
    object: 'response',
    status,
    output,
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  });
  const first = message('msg_1', TEXT, [OWN]);
  const second = message('msg_2', 'More.', []);
  const STREAM: readonly Json[] = [
    { type: 'response.created', response: response('in_progress', []) },
    { type: 'response.in_progress', response: response('in_progress', []) },
    opened(0, thought),
    { type: 'response.output_item.done', output_index: 0, item: thought },
    opened(1, first),
    ...said(at, TEXT, [OWN]),
    { type: 'response.output_item.done', output_index: 1, item: first },
    opened(2, second),
    ...said({ item_id: 'msg_2', output_index: 2, content_index: 0 }, 'More.', []),
    { type: 'response.output_item.done', output_index: 2, item: second },
    { type: 'response.completed', response: response('completed', [thought, first, second]) },
  ];
  const DONE = framesOf('data: [DONE]\n\n');
  const parsed = (data: readonly string[]): Json[] =>
    data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one) as Json);

  it('adds its citations to those of the provider, wherever the first text is shown, and to no other', async () => {
    const data = await cited(APIS.responses.stream.citer(SOURCES, HEAD), [...numbered(STREAM), ...DONE]);
    expect(findResponsesGrammarProblems(data)).toEqual([]);
    const told = parsed(data);
    const typed = (type: string): Json[] => told.filter((event) => event['type'] === type);
    expect(
      typed('response.output_text.annotation.added').map(({ sequence_number: _number, ...event }) => event),
    ).toEqual(
      [OWN, ...OURS].map((annotation, annotation_index) => ({
        type: 'response.output_text.annotation.added',
        ...at,
        annotation_index,
        annotation,
      })),
    );
    const citing = message('msg_1', TEXT, [OWN, ...OURS]);
    expect(typed('response.content_part.done').map(({ part }) => part)).toEqual([
      (citing['content'] as object[])[0],
      (second['content'] as object[])[0],
    ]);
    expect(typed('response.output_item.done').map(({ item }) => item)).toEqual([thought, citing, second]);
    expect(typed('response.completed')).toMatchObject([{ response: { output: [thought, citing, second] } }]);
  });

  it('cites in the message of a provider that tells no end of its text', async () => {
    const short = STREAM.filter(({ type }) => !/text\.done|content_part|annotation/.test(String(type)));
    const told = parsed(await cited(APIS.responses.stream.citer(SOURCES, HEAD), [...numbered(short), ...DONE]));
    expect(told.map(({ sequence_number: number }) => number)).toEqual(short.map((_, index) => index));
    const citing = message('msg_1', TEXT, [OWN, ...OURS]);
    expect(told.at(-1)).toMatchObject({ response: { output: [thought, citing, second] } });
  });

  it('goes on in the last words of a stream that is ended', async () => {
    const events = numbered(STREAM);
    const end = STREAM.findIndex(({ type }) => type === 'response.content_part.done') + 1;
    const failed = { type: 'response.failed', sequence_number: end, response: response('failed', [thought, first]) };
    const last = [...framesOf(`data: ${JSON.stringify(failed)}\n\n`), ...DONE];
    const told = parsed(await cited(APIS.responses.stream.citer(SOURCES, HEAD), events.slice(0, end), last));
    expect(told.at(-1)).toMatchObject({
      sequence_number: end + OURS.length,
      response: { output: [thought, message('msg_1', TEXT, [OWN, ...OURS])] },
    });
  });

  it('leaves a stream without a text as it is', async () => {
    const silent = numbered([
      ...STREAM.slice(0, 4),
      { type: 'response.completed', response: response('completed', [thought]) },
    ]);
    const data = await cited(APIS.responses.stream.citer(SOURCES, HEAD), silent);
    expect(data).toEqual(silent.map((frame) => String(frameData(frame))));
  });
});

describe('sources of a streamed message', () => {
  const send = (event: Json): AnswerFrame[] =>
    framesOf(`event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`);
  const block = (index: number, content_block: Json, ...deltas: readonly Json[]): Json[] => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const text = (index: number, ...words: readonly string[]): Json[] =>
    block(index, { type: 'text', text: '' }, ...words.map((word) => ({ type: 'text_delta', text: word })));
  const citation = (url: string, title: string, cited_text: string): Json => ({
    type: 'web_search_result_location',
    url,
    title,
    cited_text,
    encrypted_index: '',
  });

  it('ends the first text with citations and leaves all else as it is', async () => {
    const thinking = block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'Hm.' });
    const stream = [
      { type: 'message_start' },
      ...thinking,
      ...text(1, 'See ', URL),
      ...text(2, 'More.'),
      { type: 'message_stop' },
    ];
    const data = await cited(APIS.messages.stream.citer(SOURCES, HEAD), stream.flatMap(send));
    const stop = stream.findIndex(({ type, index }: Json) => type === 'content_block_stop' && index === 1);
    const added = [citation(URL, 'One', 'The first.'), citation('https://b.example', 'Two', '')].map((one) => ({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'citations_delta', citation: one },
    }));
    expect(data.map((one) => JSON.parse(one) as Json)).toEqual(stream.toSpliced(stop, 0, ...added));
  });
});

describe('files of a streamed chat completion', () => {
  it('begin it, so that callers can send their text back', async () => {
    const file = { hash: 'ab', name: 'a.pdf', text: 'Hello' };
    const data = await cited(APIS.chat.stream.citer([], HEAD, [file]), framesOf('data: [DONE]\n\n'));
    const annotation = {
      type: 'file',
      file: { hash: 'ab', name: 'a.pdf', content: [{ type: 'text', text: 'Hello' }] },
    };
    expect(JSON.parse(data[0]!)).toMatchObject({
      id: 'gen-1',
      choices: [{ index: 0, delta: { content: '', annotations: [annotation] }, finish_reason: null }],
    });
    expect(data.slice(1)).toEqual(['[DONE]']);
  });
});
