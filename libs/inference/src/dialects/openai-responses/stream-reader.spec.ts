import type { AnswerEvent } from '../../model/canonical-answer';
import { anEndpoint, foldAnswer } from '../../testing';
import { ResponsesStreamReader } from './stream-reader';

type Event = Record<string, unknown>;

const endpoint = anEndpoint();

function read(events: readonly (Event | string)[]): AnswerEvent[] {
  const reader = new ResponsesStreamReader(endpoint);
  const dataOf = (event: Event | string): string => (typeof event === 'string' ? event : JSON.stringify(event));
  return [...events.flatMap((event) => reader.read({ name: null, data: dataOf(event) })), ...reader.end()];
}

const created = { type: 'response.created', response: { id: 'resp_1', created_at: 5 } };
const completed = (output: object[], values: object = {}): Event => ({
  type: 'response.completed',
  response: { status: 'completed', output, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 }, ...values },
});
const message = {
  type: 'message',
  content: [
    {
      type: 'output_text',
      text: 'Hello',
      annotations: [{ type: 'url_citation', url: 'https://a.b', title: 'A', start_index: 0, end_index: 5 }],
    },
    { type: 'refusal', refusal: 'No' },
  ],
};
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'A' },
    { type: 'summary_text', text: 'B' },
  ],
  encrypted_content: 'sealed',
};
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"a":1}' };
const image = { type: 'image_generation_call', id: 'ig_1', result: 'AAAA', output_format: 'webp' };

const PARTS = [
  { type: 'reasoning', id: 'rs_1', summary: 'A\n\nB', encrypted: 'sealed', format: 'openai-responses-v1' },
  {
    type: 'text',
    text: 'Hello',
    annotations: [{ type: 'url-citation', url: 'https://a.b', title: 'A', startIndex: 0, endIndex: 5 }],
  },
  { type: 'refusal', text: 'No' },
  { type: 'tool-call', id: 'call_1', name: 'f', arguments: '{"a":1}' },
  { type: 'generated-image', url: 'data:image/webp;base64,AAAA' },
];
const ITEMS = [thought, message, call, image];

describe(ResponsesStreamReader.name, () => {
  it('reads an upstream that sends its items whole', () => {
    const events = ITEMS.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item }));
    expect(foldAnswer(read([created, ...events, completed(ITEMS)]))).toMatchObject({
      upstreamId: 'resp_1',
      createdAt: 5,
      parts: PARTS,
      finishReason: 'tool_calls',
      nativeFinishReason: 'completed',
      usage: { promptTokens: 3, completionTokens: 2, provenance: 'upstream' },
    });
  });

  it('reads an upstream that sends nothing but its last response', () => {
    expect(foldAnswer(read([completed(ITEMS)])).parts).toEqual(PARTS);
  });

  it('keeps the sections of a summary apart, and gives nothing twice', () => {
    const added = {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs_1', summary: [] },
    };
    const delta = (index: number, text: string) => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: index,
      delta: text,
    });
    const done = { type: 'response.output_item.done', output_index: 0, item: thought };
    expect(foldAnswer(read([created, added, delta(0, 'A'), delta(1, 'B'), done, completed([thought])])).parts).toEqual([
      PARTS[0],
    ]);
  });

  it('gives what the end of a text or of arguments holds beyond the deltas', () => {
    const place = { output_index: 0, content_index: 0 };
    const events = [
      created,
      { type: 'response.output_text.delta', ...place, delta: 'Hel' },
      { type: 'response.output_text.done', ...place, text: 'Hello' },
      { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a"' },
    ];
    const plain = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] };
    const rest = { type: 'response.output_item.done', output_index: 1, item: call };
    const read1 = read([
      ...events.slice(0, 3),
      { type: 'response.content_part.done', ...place },
      ...events.slice(3),
      rest,
      completed([plain, call]),
    ]);
    expect(foldAnswer(read1).parts).toEqual([{ type: 'text', text: 'Hello' }, PARTS[3]]);
  });

  it.each([
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter'],
  ])('says of %j that it ended by %s, and keeps its usage', (values, finishReason) => {
    const events = read([created, { ...completed([message], values), type: 'response.incomplete' }]);
    expect(foldAnswer(events)).toMatchObject({ finishReason, usage: { completionTokens: 2 } });
  });

  it('leaves the usage to be estimated where the upstream has none to trust', () => {
    for (const usage of [null, {}, { input_tokens: -1 }, { input_tokens: '1', output_tokens: 2.5 }]) {
      expect(foldAnswer(read([completed([message], { usage })])).usage).toBeNull();
    }
  });

  it('names the tier', () => {
    expect(read([completed([], { service_tier: 'standard' })]).at(-1)).toMatchObject({ serviceTier: 'default' });
  });

  it('reads nothing after the end', () => {
    const events = read([completed([message]), '[DONE]', { type: 'error', message: 'late' }]);
    expect(events.at(-1)?.type).toBe('finish');
  });

  it('takes events it does not know for nothing', () => {
    const unknown = [{ type: 'keepalive' }, { type: 'constructor' }, { type: 'response.debug', debug: {} }];
    expect(read([...unknown, completed([])])).toEqual(read([completed([])]));
  });

  it.each([
    ['an error event', { type: 'error', code: 'rate_limit_exceeded', message: 'x' }, 'rate_limit_exceeded'],
    ['a bare error', { error: { message: 'x', type: 'overloaded_error' } }, 'provider_overloaded'],
    [
      'a failed response',
      { type: 'response.failed', response: { error: { code: 'server_error' } } },
      'provider_unavailable',
    ],
    ['a failed response without a word', { type: 'response.failed', response: {} }, 'provider_unavailable'],
    ['an end with an error', completed([], { usage: null, error: { code: 429 } }), 'rate_limit_exceeded'],
    ['an end without a response', { type: 'response.completed' }, 'provider_unavailable'],
    ['what is no JSON', '{"type":', 'provider_unavailable'],
    ['what is no object', '[]', 'provider_unavailable'],
    ['a cut', created, 'provider_unavailable'],
  ])('throws for %s', (_what, event, code) => {
    expect(() => read([created, event])).toThrow(expect.objectContaining({ code }) as Error);
  });
});
