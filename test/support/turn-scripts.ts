import type { ServerResponse } from 'node:http';
import type { Behaviour, ReceivedRequest } from '@libs/inference/testing';

/** What a provider says in one turn of a conversation, in whichever dialect it is asked. */
export interface TurnScript {
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Says no more after its text, and does not end. Streams only. */
  readonly hangs?: boolean;
  /** Answers with this status and an error instead. */
  readonly status?: number;
}

/** What every turn counts, unless it fails. */
export const TURN_COUNTS = { prompt: 1_371, completion: 213 };

type Dialect = 'chat' | 'responses' | 'messages';

/** A request as its upstream read it. */
export type Asked = Readonly<Record<string, unknown>> & { readonly stream?: boolean };

/** Answers every request with what `choose` says of it. */
export function turnsBy(choose: (asked: Asked) => TurnScript): Behaviour {
  return (response, request) => {
    const asked = JSON.parse(request.body) as Asked;
    send(response, dialectOf(request), choose(asked), asked.stream === true);
  };
}

function dialectOf({ path }: ReceivedRequest): Dialect {
  if (path.endsWith('/messages')) return 'messages';
  return path.endsWith('/responses') ? 'responses' : 'chat';
}

function send(response: ServerResponse, dialect: Dialect, turn: TurnScript, isStream: boolean): void {
  if (turn.status !== undefined) {
    const error = { message: 'Out of order', type: 'server_error', param: null, code: null };
    response.writeHead(turn.status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    return;
  }
  const { whole, events } = WRITERS[dialect](turn);
  if (!isStream) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const [words = [], end = []] = events;
  response.write(words.join(''));
  if (!turn.hangs) response.end(end.join(''));
}

interface Written {
  readonly whole: object;
  /** What it says, and how it ends. */
  readonly events: readonly (readonly string[])[];
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\n${event(data)}`;

const WRITERS: Readonly<Record<Dialect, (turn: TurnScript) => Written>> = {
  chat: chatTurn,
  responses: responsesTurn,
  messages: messagesTurn,
};

function chatTurn({ text, calls = [] }: TurnScript): Written {
  const { prompt, completion } = TURN_COUNTS;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const head = { id: 'up-1', created: 1_760_000_000, model: 'theirs' };
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const toolCalls = calls.map(({ id, name, arguments: args }, index) => {
    return { index, id, type: 'function', function: { name, arguments: args } };
  });
  const message = { role: 'assistant', content: text ?? null, ...(calls.length > 0 && { tool_calls: toolCalls }) };
  const chunk = (members: object): string => event({ ...head, object: 'chat.completion.chunk', ...members });
  const delta = (said: object, reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: said, finish_reason: reason }] });
  return {
    whole: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage },
    events: [
      [
        ...(text === undefined ? [] : [delta({ content: text })]),
        ...toolCalls.map((call) => delta({ tool_calls: [call] })),
      ],
      [delta({}, finish), chunk({ choices: [], usage }), 'data: [DONE]\n\n'],
    ],
  };
}

function responsesTurn({ text, calls = [] }: TurnScript): Written {
  const { prompt, completion } = TURN_COUNTS;
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
  const items = calls.map(({ id, name, arguments: args }) => {
    return { id: `fc_${id}`, type: 'function_call', call_id: id, name, arguments: args, status: 'completed' };
  });
  const output = [...(text === undefined ? [] : [message]), ...items];
  const usage = { input_tokens: prompt, output_tokens: completion, total_tokens: prompt + completion };
  const response = { id: 'up-1', object: 'response', created_at: 1_760_000_000, model: 'theirs', output };
  const told = output.flatMap((item, index) => [
    event({ type: 'response.output_item.added', output_index: index, item: { ...item, status: 'in_progress' } }),
    ...('content' in item
      ? [event({ type: 'response.output_text.delta', output_index: index, content_index: 0, delta: text })]
      : []),
    event({ type: 'response.output_item.done', output_index: index, item }),
  ]);
  const whole = { ...response, status: 'completed', usage };
  const begun = { ...response, output: [], status: 'in_progress' };
  return {
    whole,
    events: [
      [event({ type: 'response.created', response: begun }), ...told],
      [event({ type: 'response.completed', response: whole })],
    ],
  };
}

function messagesTurn({ text, calls = [] }: TurnScript): Written {
  const { prompt, completion } = TURN_COUNTS;
  const usage = { input_tokens: prompt, output_tokens: completion };
  const head = { id: 'up-1', type: 'message', role: 'assistant', model: 'theirs', stop_sequence: null };
  const stopReason = calls.length > 0 ? 'tool_use' : 'end_turn';
  const content = [
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, arguments: args }) => {
      return { type: 'tool_use', id, name, input: JSON.parse(args) as object };
    }),
  ];
  const blocks = content.flatMap((block, index) => {
    const isText = block.type === 'text';
    const start = isText ? { ...block, text: '' } : { ...block, input: {} };
    const args = 'input' in block ? JSON.stringify(block.input) : '';
    const delta = isText ? { type: 'text_delta', text } : { type: 'input_json_delta', partial_json: args };
    return [
      named({ type: 'content_block_start', index, content_block: start }),
      named({ type: 'content_block_delta', index, delta }),
      named({ type: 'content_block_stop', index }),
    ];
  });
  const begun = { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return {
    whole: { ...head, content, stop_reason: stopReason, usage },
    events: [
      [named({ type: 'message_start', message: begun }), ...blocks],
      [named({ type: 'message_delta', delta, usage }), named({ type: 'message_stop' })],
    ],
  };
}
