import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamableApi } from '../dialects/dialect-pairs';
import { bedrockEvent, bedrockException } from '../providers/testing/event-stream-encoder';

/** The body of a streamed answer, as a provider sends it. */
export interface RecordedStream {
  readonly name: string;
  readonly protocol: string;
  /** The API that the provider is asked in; `conversation` where its protocol has a dialect of its own. */
  readonly api: StreamableApi | 'conversation';
  readonly body: Buffer;
}

type Source = readonly [protocol: string, api: RecordedStream['api']];

const CHAT: Source = ['openai', 'chat'];
const RESPONSES: Source = ['openai', 'responses'];
const MESSAGES: Source = ['anthropic', 'messages'];
const BEDROCK: Source = ['bedrock', 'conversation'];
const GOOGLE: Source = ['google', 'conversation'];
const COHERE: Source = ['cohere', 'conversation'];
const MISTRAL: Source = ['mistral', 'conversation'];

const recording = (name: string, [protocol, api]: Source, body: Buffer | string): RecordedStream => ({
  name,
  protocol,
  api,
  body: Buffer.from(body),
});

/** What the providers' own servers have sent; the files of other protocols repeat these. */
export const PROVIDER_RECORDINGS: readonly RecordedStream[] = (
  [
    [CHAT, 'openai/chat-stream.txt'],
    [CHAT, 'azure/chat-stream.txt'],
    [RESPONSES, 'openai/responses-stream.txt'],
    [MESSAGES, 'anthropic/messages-stream.txt'],
    [BEDROCK, 'bedrock/conversation-stream.bin'],
    [['bedrock', 'messages'], 'bedrock/messages-stream.bin'],
    [GOOGLE, 'google/conversation-stream.txt'],
    [GOOGLE, 'google-vertex/conversation-stream.txt'],
    [COHERE, 'cohere/conversation-stream.txt'],
    [MISTRAL, 'mistral/conversation-stream.txt'],
  ] as const
).map(([source, file]) => recording(file, source, readFileSync(join(__dirname, '../providers/__fixtures__', file))));

interface NamedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

const data = (...events: readonly (string | object)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');

const named = (...events: readonly NamedEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'c1',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"ö":' } };
/** Two bytes, four bytes, a pair of escapes, a lone half of one, and what looks like the end of an event. */
const WORDS = 'ü😀\n\ndata: [DONE]"';
const ESCAPED_CHUNK = String.raw`{"id":"c1","choices":[{"\u0069ndex":0,"delta":{"content":"\ud83d\ude00\u00fc\ud800"},"finish_reason":null}]}`;
const CHAT_USAGE = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };

const textBlock = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
];
const MESSAGE_START = {
  type: 'message_start',
  message: { id: 'm1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3, output_tokens: 1 } },
};
const RESPONSE = { id: 'r1', object: 'response', created_at: 1, status: 'in_progress', output: [] };
const FUNCTION_CALL = { id: 'f1', type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '' };

/** Short streams: texts that do not fit one byte, calls of tools in pieces, usage. */
export const SHORT_RECORDINGS: readonly RecordedStream[] = [
  recording(
    'chat with a call',
    CHAT,
    data(
      chunk({ role: 'assistant', content: WORDS }),
      ESCAPED_CHUNK,
      chunk({ tool_calls: [CALL] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"é😀"}' } }] }),
      chunk({}, 'tool_calls'),
      CHAT_USAGE,
      '[DONE]',
    ),
  ),
  recording(
    'a response with a call',
    RESPONSES,
    named(
      { type: 'response.created', sequence_number: 0, response: RESPONSE },
      { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: FUNCTION_CALL },
      { type: 'response.function_call_arguments.delta', sequence_number: 2, output_index: 0, delta: '{"ö":"😀"}' },
      {
        type: 'response.output_item.done',
        sequence_number: 3,
        output_index: 0,
        item: { ...FUNCTION_CALL, arguments: '{"ö":"😀"}' },
      },
      {
        type: 'response.completed',
        sequence_number: 4,
        response: {
          ...RESPONSE,
          status: 'completed',
          output: [{ ...FUNCTION_CALL, arguments: '{"ö":"😀"}' }],
          usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
        },
      },
    ),
  ),
  recording(
    'a message with a call',
    MESSAGES,
    named(
      MESSAGE_START,
      ...textBlock,
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'call_1', name: 'look_up', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"ö":"😀"}' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 4 },
      },
      { type: 'message_stop' },
    ),
  ),
  recording(
    'a conversation of Bedrock with a call',
    BEDROCK,
    Buffer.concat([
      bedrockEvent('messageStart', { role: 'assistant' }),
      bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: WORDS } }),
      bedrockEvent('contentBlockStop', { contentBlockIndex: 0 }),
      bedrockEvent('contentBlockStart', {
        contentBlockIndex: 1,
        start: { toolUse: { toolUseId: 'call_1', name: 'look_up' } },
      }),
      bedrockEvent('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"ö":"😀"}' } } }),
      bedrockEvent('contentBlockStop', { contentBlockIndex: 1 }),
      bedrockEvent('messageStop', { stopReason: 'tool_use' }),
      bedrockEvent('metadata', { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } }),
    ]),
  ),
  recording(
    'a conversation of Google with a call',
    GOOGLE,
    data(
      { candidates: [{ content: { parts: [{ text: WORDS }], role: 'model' } }] },
      {
        candidates: [
          { content: { parts: [{ functionCall: { name: 'look_up', args: { ö: '😀' } } }] }, finishReason: 'STOP' },
        ],
      },
      { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 } },
    ).replaceAll('\n', '\r\n'),
  ),
  recording(
    'a conversation of Cohere with a call',
    COHERE,
    named(
      { type: 'message-start', id: 'h1', delta: { message: { role: 'assistant' } } },
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: WORDS } } } },
      { type: 'content-end', index: 0 },
      {
        type: 'tool-call-start',
        index: 0,
        delta: {
          message: { tool_calls: { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '' } } },
        },
      },
      {
        type: 'tool-call-delta',
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: '{"ö":"😀"}' } } } },
      },
      { type: 'tool-call-end', index: 0 },
      {
        type: 'message-end',
        delta: { finish_reason: 'TOOL_CALL', usage: { tokens: { input_tokens: 3, output_tokens: 4 } } },
      },
    ),
  ),
  recording(
    'a conversation of Mistral with a call',
    MISTRAL,
    data(
      chunk({ role: 'assistant', content: [{ type: 'text', text: WORDS }] }),
      chunk({ tool_calls: [{ ...CALL, function: { name: 'look_up', arguments: '{"ö":"😀"}' } }] }, 'tool_calls'),
      CHAT_USAGE,
      '[DONE]',
    ),
  ),
];

const ERROR = { message: 'Ünavailable', code: 'server_error', type: 'server_error' };

/** Streams in which the provider says something, and then that it failed. */
export const BROKEN_RECORDINGS: readonly RecordedStream[] = [
  recording('a chat that fails', CHAT, data(chunk({ content: WORDS }), { error: ERROR })),
  recording(
    'a response that fails',
    RESPONSES,
    named(
      { type: 'response.created', sequence_number: 0, response: RESPONSE },
      { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: FUNCTION_CALL },
      { type: 'response.failed', sequence_number: 2, response: { ...RESPONSE, status: 'failed', error: ERROR } },
    ),
  ),
  recording(
    'a message that fails',
    MESSAGES,
    named(MESSAGE_START, ...textBlock, { type: 'error', error: { type: 'overloaded_error', message: 'Ü' } }),
  ),
  recording(
    'a conversation of Bedrock that fails',
    BEDROCK,
    Buffer.concat([
      bedrockEvent('messageStart', { role: 'assistant' }),
      bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: WORDS } }),
      bedrockException('throttlingException', 'Ü'),
    ]),
  ),
  recording(
    'a conversation of Google that fails',
    GOOGLE,
    data(
      { candidates: [{ content: { parts: [{ text: WORDS }], role: 'model' } }] },
      { error: { code: 503, message: 'Ü', status: 'UNAVAILABLE' } },
    ),
  ),
];
