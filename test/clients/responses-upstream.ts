import type { ServerResponse } from 'node:http';
import { TOKENS, type SpokenTurn } from './spoken-turn';
import { named, sendEvents, sendWhole } from './upstream-replies';

const USAGE = {
  input_tokens: TOKENS.prompt,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: TOKENS.completion,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: TOKENS.prompt + TOKENS.completion,
};

/** Answers as an upstream that speaks responses, with the settings that it echoes at their defaults. */
export function answerResponses(turn: SpokenTurn, isStream: boolean, response: ServerResponse): void {
  const items = itemsOf(turn);
  if (!isStream) return sendWhole(response, turn, responseOf('completed', items));
  let sequence = 0;
  const event = (type: string, members: object): string => named(type, { ...members, sequence_number: sequence++ });
  const opening = event('response.created', { response: responseOf('in_progress', []) });
  const events = [
    opening,
    ...items.flatMap((item, index) => itemEvents(turn, item, index, event)),
    event('response.completed', { response: responseOf('completed', items) }),
  ];
  sendEvents(response, events, turn);
}

type Item = Readonly<Record<string, unknown>> & { readonly id: string };
type MakeEvent = (type: string, members: object) => string;

function itemsOf(turn: SpokenTurn): Item[] {
  if (turn.kind === 'text') {
    const content = [{ type: 'output_text', text: turn.pieces.join(''), annotations: [], logprobs: [] }];
    return [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
  }
  return turn.calls.map(({ id, name, pieces }, index) => ({
    id: `fc_${index}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: pieces.join(''),
  }));
}

function itemEvents(turn: SpokenTurn, item: Item, index: number, event: MakeEvent): string[] {
  const at = { item_id: item.id, output_index: index };
  const done = (): string => event('response.output_item.done', { output_index: index, item });
  if (turn.kind === 'calls') {
    const pieces = turn.calls[index]?.pieces ?? [];
    const begun = { ...item, status: 'in_progress', arguments: '' };
    return [
      event('response.output_item.added', { output_index: index, item: begun }),
      ...pieces.map((delta) => event('response.function_call_arguments.delta', { ...at, delta })),
      event('response.function_call_arguments.done', { ...at, name: item['name'], arguments: item['arguments'] }),
      done(),
    ];
  }
  const text = turn.pieces.join('');
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  const inPart = { ...at, content_index: 0 };
  const begun = { ...item, status: 'in_progress', content: [] };
  return [
    event('response.output_item.added', { output_index: index, item: begun }),
    event('response.content_part.added', { ...inPart, part: { ...part, text: '' } }),
    ...turn.pieces.map((delta) => event('response.output_text.delta', { ...inPart, delta, logprobs: [] })),
    event('response.output_text.done', { ...inPart, text, logprobs: [] }),
    event('response.content_part.done', { ...inPart, part }),
    done(),
  ];
}

function responseOf(status: string, output: readonly Item[]): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_760_000_000,
    completed_at: status === 'completed' ? 1_760_000_001 : null,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: 'theirs',
    output,
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    tool_choice: 'auto',
    tools: [],
    usage: status === 'completed' ? USAGE : null,
  };
}
