import { setTimeout as delay } from 'node:timers/promises';

/** What upstreams answer in the specs, by the API they speak. */
export const CHAT_ANSWER = {
  id: 'upstream-1',
  object: 'chat.completion',
  created: 1,
  model: 'chat-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

export const RESPONSE_ANSWER = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'responses-model',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi.', annotations: [], logprobs: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};

export const MESSAGE_ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'messages-model',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};

export const chatChunk = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'upstream-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'chat-model',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...more,
  })}\n\n`;

export const CHAT_END = chatChunk('', {
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

export const DONE = 'data: [DONE]\n\n';

const TOOL_CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'datetime', arguments: '{}' } };

/** The model calls the tool `datetime`. */
export const TOOL_CALL_ANSWER = {
  ...CHAT_ANSWER,
  choices: [
    { index: 0, message: { role: 'assistant', content: null, tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' },
  ],
};

export const TOOL_CALL_STREAM = [
  chatChunk('', { choices: [{ index: 0, delta: { tool_calls: [TOOL_CALL] }, finish_reason: null }] }),
  CHAT_END.replace('"stop"', '"tool_calls"'),
  DONE,
].join('');

const messageEvent = (event: { type: string; [member: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const MESSAGE_BEGIN = [
  messageEvent({ type: 'message_start', message: { ...MESSAGE_ANSWER, content: [], stop_reason: null } }),
  messageEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  messageEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } }),
].join('');

export const MESSAGE_END = [
  messageEvent({ type: 'content_block_stop', index: 0 }),
  messageEvent({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
  messageEvent({ type: 'message_stop' }),
].join('');

/** The JSON payloads of the events of a stream. */
export function payloadsOf<Payload = Record<string, unknown>>(stream: string): Payload[] {
  const lines = stream.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as Payload);
}

/** Until something that others bring about is so. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error('did not happen');
    await delay(5);
  }
}
