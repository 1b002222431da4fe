import type { ServerResponse } from 'node:http';
import { TOKENS, type SpokenTurn } from './spoken-turn';
import { sendEvents, sendWhole } from './upstream-replies';

const HEAD = { id: 'chatcmpl-1', created: 1_760_000_000, model: 'theirs' };
const USAGE = {
  prompt_tokens: TOKENS.prompt,
  completion_tokens: TOKENS.completion,
  total_tokens: TOKENS.prompt + TOKENS.completion,
};

/** Answers as an upstream that speaks chat completions and says no more than it has to. */
export function answerChat(turn: SpokenTurn, isStream: boolean, response: ServerResponse): void {
  if (!isStream) return sendWhole(response, turn, wholeChat(turn));
  sendEvents(response, chunksOf(turn), turn);
}

function wholeChat(turn: SpokenTurn): object {
  const message =
    turn.kind === 'text'
      ? { role: 'assistant', content: turn.pieces.join('') }
      : {
          role: 'assistant',
          content: null,
          tool_calls: turn.calls.map(({ id, name, pieces }) => ({
            id,
            type: 'function',
            function: { name, arguments: pieces.join('') },
          })),
        };
  const choices = [{ index: 0, message, finish_reason: finishReasonOf(turn) }];
  return { ...HEAD, object: 'chat.completion', choices, usage: USAGE };
}

function chunksOf(turn: SpokenTurn): string[] {
  const deltas = turn.kind === 'text' ? turn.pieces.map((content) => ({ content })) : callDeltas(turn.calls);
  return [
    chunk([choice({ role: 'assistant', content: '' }, null)]),
    ...deltas.map((delta) => chunk([choice(delta, null)])),
    chunk([choice({}, finishReasonOf(turn))]),
    chunk([], { usage: USAGE }),
    'data: [DONE]\n\n',
  ];
}

function callDeltas(calls: (SpokenTurn & { kind: 'calls' })['calls']): object[] {
  return calls.flatMap(({ id, name, pieces }, index) => [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
}

function choice(delta: object, finishReason: string | null): object {
  return { index: 0, delta, finish_reason: finishReason };
}

function chunk(choices: readonly object[], members: object = {}): string {
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...members })}\n\n`;
}

function finishReasonOf({ kind }: SpokenTurn): string {
  return kind === 'text' ? 'stop' : 'tool_calls';
}
