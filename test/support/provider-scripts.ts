/**
 * What a provider says in each dialect: the same short answer, whole or streamed, cut at the places where the
 * tests let something go wrong.
 */
export type UpstreamDialect = 'chat' | 'responses' | 'messages';

/** A streamed answer in the order in which it is sent. */
export interface StreamScript {
  /** Announces an answer and says nothing yet. */
  readonly announcement: string;
  /** The first words. */
  readonly words: string;
  readonly moreWords: string;
  /** The end of the answer, its usage and what ends the stream. */
  readonly end: string;
  /** The same for an answer that ran into its limit of tokens. */
  readonly endAtLimit: string;
  /** The same without any usage. */
  readonly endWithoutUsage: string;
  /** An error in the place of an end. */
  readonly error: string;
  /** An error after which nothing is missing but the answer: the usage is reported. */
  readonly errorWithUsage: string;
  /** No event, though it begins like one. */
  readonly malformed: string;
}

export interface ProviderScript {
  /** Where a provider of the dialect is asked, below its base URL. */
  readonly path: string;
  readonly answer: string;
  readonly error: string;
  readonly stream: StreamScript;
}

/** What every provider of the tests counts. */
export const COUNTED = { prompt: 1_371, completion: 213 };
export const FIRST_WORDS = 'Something ';
const MORE_WORDS = 'was said.';
export const TEXT = FIRST_WORDS + MORE_WORDS;

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\n${event(data)}`;

/** A provider of the dialect; `secret` is in its errors and must not come through. */
export function scriptOf(dialect: UpstreamDialect, secret: string): ProviderScript {
  return { chat: chatScript, responses: responsesScript, messages: messagesScript }[dialect](secret);
}

function chatScript(secret: string): ProviderScript {
  const usage = {
    prompt_tokens: COUNTED.prompt,
    completion_tokens: COUNTED.completion,
    total_tokens: COUNTED.prompt + COUNTED.completion,
  };
  const head = { id: 'up-1', created: 1_760_000_000, model: 'theirs' };
  const chunk = (members: object): string => event({ ...head, object: 'chat.completion.chunk', ...members });
  const delta = (content: object, finish_reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason }] });
  const used = chunk({ choices: [], usage });
  const error = { message: secret, type: 'overloaded_error', code: 'overloaded_error' };
  const message = { role: 'assistant', content: TEXT };
  return {
    path: '/chat/completions',
    answer: JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    }),
    error: JSON.stringify({ error }),
    stream: {
      announcement: delta({ role: 'assistant', content: '' }),
      words: delta({ content: FIRST_WORDS }),
      moreWords: delta({ content: MORE_WORDS }),
      end: `${delta({}, 'stop')}${used}data: [DONE]\n\n`,
      endAtLimit: `${delta({}, 'length')}${used}data: [DONE]\n\n`,
      endWithoutUsage: `${delta({}, 'stop')}data: [DONE]\n\n`,
      error: event({ error }),
      errorWithUsage: chunk({ error, choices: [{ index: 0, delta: {}, finish_reason: 'error' }], usage }),
      malformed: 'data: {"id":"up-1","choices":[{"ind\n\n',
    },
  };
}

function responsesScript(secret: string): ProviderScript {
  const usage = {
    input_tokens: COUNTED.prompt,
    output_tokens: COUNTED.completion,
    total_tokens: COUNTED.prompt + COUNTED.completion,
  };
  let sequence = 0;
  const next = (type: string, members: object): string => event({ type, sequence_number: sequence++, ...members });
  const response = (status: string, members: object = {}): object => ({
    response: {
      id: 'resp-1',
      object: 'response',
      created_at: 1_760_000_000,
      model: 'theirs',
      status,
      output: [],
      ...members,
    },
  });
  const part = { type: 'output_text', text: TEXT, annotations: [] };
  const item = (status: string, content: object[]): object => ({
    type: 'message',
    id: 'm-1',
    role: 'assistant',
    status,
    content,
  });
  const at = { output_index: 0, content_index: 0, item_id: 'm-1' };
  const error = { code: 'overloaded_error', message: secret };
  const announcement =
    next('response.created', response('in_progress')) + next('response.in_progress', response('in_progress'));
  const empty = { ...part, text: '' };
  const words =
    next('response.output_item.added', { output_index: 0, item: item('in_progress', []) }) +
    next('response.content_part.added', { ...at, part: empty }) +
    next('response.output_text.delta', { ...at, delta: FIRST_WORDS });
  const moreWords = next('response.output_text.delta', { ...at, delta: MORE_WORDS });
  const isFrom = sequence;
  const end = (status: 'completed' | 'incomplete', members: object): string => {
    sequence = isFrom;
    const done = item(status, [part]);
    return (
      next('response.output_text.done', { ...at, text: TEXT }) +
      next('response.content_part.done', { ...at, part }) +
      next('response.output_item.done', { output_index: 0, item: done }) +
      next(`response.${status}`, response(status, { output: [done], ...members }))
    );
  };
  return {
    path: '/responses',
    answer: JSON.stringify({
      ...(response('completed', { output: [item('completed', [part])], usage }) as { response: object }).response,
    }),
    error: JSON.stringify({ error }),
    stream: {
      announcement,
      words,
      moreWords,
      end: end('completed', { usage }),
      endAtLimit: end('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } }),
      endWithoutUsage: end('completed', {}),
      error: event({ type: 'error', sequence_number: isFrom, ...error }),
      errorWithUsage: event({
        type: 'response.failed',
        sequence_number: isFrom,
        ...response('failed', { error, usage }),
      }),
      malformed: 'data: {"type":"response.output_text.del\n\n',
    },
  };
}

function messagesScript(secret: string): ProviderScript {
  const head = { id: 'msg-1', type: 'message', role: 'assistant', model: 'theirs' };
  const prompt = { input_tokens: COUNTED.prompt };
  const output = { output_tokens: COUNTED.completion };
  const error = { type: 'error', error: { type: 'overloaded_error', message: secret } };
  const stop = (stop_reason: string | null, usage?: object): string =>
    named({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, ...(usage && { usage }) });
  const text = (words: string): string =>
    named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } });
  const blockEnd = named({ type: 'content_block_stop', index: 0 });
  const last = named({ type: 'message_stop' });
  return {
    path: '/messages',
    answer: JSON.stringify({
      ...head,
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { ...prompt, ...output },
    }),
    error: JSON.stringify(error),
    stream: {
      announcement:
        named({
          type: 'message_start',
          message: {
            ...head,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { ...prompt, output_tokens: 1 },
          },
        }) + named({ type: 'ping' }),
      words:
        named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) + text(FIRST_WORDS),
      moreWords: text(MORE_WORDS),
      end: blockEnd + stop('end_turn', output) + last,
      endAtLimit: blockEnd + stop('max_tokens', output) + last,
      endWithoutUsage: blockEnd + stop('end_turn') + last,
      error: named(error),
      errorWithUsage: stop(null, output) + named(error),
      malformed: 'event: content_block_delta\ndata: {"type":"content_block_del\n\n',
    },
  };
}
