import type { ServerResponse } from 'node:http';
import { TOKENS, type SpokenTurn } from './spoken-turn';
import { named, sendEvents, sendWhole } from './upstream-replies';

const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'theirs' };
const USAGE = { input_tokens: TOKENS.prompt, output_tokens: TOKENS.completion };

/** Answers as an upstream that speaks messages and says no more than it has to. */
export function answerMessages(turn: SpokenTurn, isStream: boolean, response: ServerResponse): void {
  const content = blocksOf(turn);
  const stop = { stop_reason: turn.kind === 'text' ? 'end_turn' : 'tool_use', stop_sequence: null };
  if (!isStream) return sendWhole(response, turn, { ...HEAD, content, ...stop, usage: USAGE });
  const start = { ...HEAD, content: [], stop_reason: null, stop_sequence: null, usage: { ...USAGE, output_tokens: 1 } };
  const events = [
    named('message_start', { message: start }),
    ...eventsOf(turn),
    named('message_delta', { delta: stop, usage: { output_tokens: TOKENS.completion } }),
    named('message_stop', {}),
  ];
  sendEvents(response, events, turn);
}

function blocksOf(turn: SpokenTurn): object[] {
  if (turn.kind === 'text') return [{ type: 'text', text: turn.pieces.join('') }];
  return turn.calls.map(({ id, name, pieces }) => ({
    type: 'tool_use',
    id,
    name,
    input: JSON.parse(pieces.join('')) as object,
  }));
}

function eventsOf(turn: SpokenTurn): string[] {
  if (turn.kind === 'text') {
    const deltas = turn.pieces.map((text) => ({ type: 'text_delta', text }));
    return blockEvents(0, { type: 'text', text: '' }, deltas);
  }
  return turn.calls.flatMap(({ id, name, pieces }, index) => {
    const deltas = pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
    return blockEvents(index, { type: 'tool_use', id, name, input: {} }, deltas);
  });
}

function blockEvents(index: number, block: object, deltas: readonly object[]): string[] {
  return [
    named('content_block_start', { index, content_block: block }),
    ...deltas.map((delta) => named('content_block_delta', { index, delta })),
    named('content_block_stop', { index }),
  ];
}
