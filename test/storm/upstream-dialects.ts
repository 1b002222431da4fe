import { answerTo, embeddingOf, tokensOf } from '../support/upstream-answer';
import type { CallApi } from './evidence';

/** What a provider of the storm says, whole or as the events of a stream; the text follows from the prompt alone. */

interface Message {
  readonly role: string;
  readonly content: string | readonly { readonly text?: string }[];
}

export interface InferenceBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages?: readonly Message[];
  readonly input?: string | readonly Message[];
}

const textOf = (content: Message['content']): string =>
  typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');

/** The last user message, or the text to embed. */
export function promptOf({ messages, input }: InferenceBody): string {
  if (typeof input === 'string') return input;
  const said: readonly unknown[] = messages ?? input ?? [];
  const last = said.findLast((one) => typeof one === 'string' || (one as Message).role === 'user');
  if (typeof last === 'string') return last;
  return last === undefined ? '' : textOf((last as Message).content);
}

const CHUNKS = 6;
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\n${event(data)}`;

/** The words of an answer in pieces of about the same length. */
function pieces(text: string): string[] {
  const length = Math.ceil(text.length / CHUNKS);
  return Array.from({ length: CHUNKS }, (_, index) => text.slice(index * length, (index + 1) * length));
}

interface Dialect {
  readonly whole: (model: string, prompt: string) => object;
  readonly events: (model: string, prompt: string) => string[];
}

function chatUsage(prompt: string): object {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

const chat: Dialect = {
  whole: (model, prompt) => ({
    id: 'up-chat',
    object: 'chat.completion',
    created: 1_760_000_000,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: answerTo(prompt) }, finish_reason: 'stop' }],
    usage: chatUsage(prompt),
  }),
  events: (model, prompt) => {
    const chunk = (members: object): string =>
      event({ id: 'up-chat', object: 'chat.completion.chunk', created: 1_760_000_000, model, ...members });
    const delta = (content: object, finish_reason: string | null = null): string =>
      chunk({ choices: [{ index: 0, delta: content, finish_reason }] });
    return [
      delta({ role: 'assistant', content: '' }),
      ...pieces(answerTo(prompt)).map((content) => delta({ content })),
      delta({}, 'stop'),
      chunk({ choices: [], usage: chatUsage(prompt) }),
      'data: [DONE]\n\n',
    ];
  },
};

function responsesUsage(prompt: string): object {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

const responses: Dialect = {
  whole: (model, prompt) => {
    const part = { type: 'output_text', text: answerTo(prompt), annotations: [] };
    return {
      id: 'up-response',
      object: 'response',
      created_at: 1_760_000_000,
      model,
      status: 'completed',
      output: [{ type: 'message', id: 'm-1', role: 'assistant', status: 'completed', content: [part] }],
      usage: responsesUsage(prompt),
    };
  },
  events: (model, prompt) => {
    let sequence = 0;
    const next = (type: string, members: object): string => event({ type, sequence_number: sequence++, ...members });
    const done = responses.whole(model, prompt) as { output: object[] };
    const [item] = done.output as [{ content: object[] }];
    const begun = { response: { ...done, status: 'in_progress', output: [], usage: null } };
    const at = { output_index: 0, content_index: 0, item_id: 'm-1' };
    const text = answerTo(prompt);
    return [
      next('response.created', begun),
      next('response.in_progress', begun),
      next('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
      next('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } }),
      ...pieces(text).map((delta) => next('response.output_text.delta', { ...at, delta })),
      next('response.output_text.done', { ...at, text }),
      next('response.content_part.done', { ...at, part: item.content[0] }),
      next('response.output_item.done', { output_index: 0, item }),
      next('response.completed', { response: done }),
    ];
  },
};

const messages: Dialect = {
  whole: (model, prompt) => {
    const { promptTokens, completionTokens } = tokensOf(prompt);
    return {
      id: 'up-message',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: answerTo(prompt) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: promptTokens, output_tokens: completionTokens },
    };
  },
  events: (model, prompt) => {
    const { promptTokens, completionTokens } = tokensOf(prompt);
    const head = { ...messages.whole(model, prompt), content: [], stop_reason: null };
    return [
      named({ type: 'message_start', message: { ...head, usage: { input_tokens: promptTokens, output_tokens: 1 } } }),
      named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces(answerTo(prompt)).map((text) =>
        named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
      ),
      named({ type: 'content_block_stop', index: 0 }),
      named({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: completionTokens },
      }),
      named({ type: 'message_stop' }),
    ];
  },
};

const embeddings: Dialect = {
  whole: (model, prompt) => {
    const { promptTokens } = tokensOf(prompt);
    return {
      object: 'list',
      model,
      data: [{ object: 'embedding', index: 0, embedding: embeddingOf(prompt) }],
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    };
  },
  events: () => [],
};

export const DIALECTS: Readonly<Record<CallApi, Dialect>> = { chat, responses, messages, embeddings };

/** The path below the base URL of each API. */
export const PATHS: Readonly<Record<CallApi, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
  embeddings: '/embeddings',
};
