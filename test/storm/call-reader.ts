import type { Dispatcher } from 'undici';
import { parseExact } from '../support/client';
import type { CallApi, CallRecord } from './evidence';
import { errorTypeIn } from './storm-client';

/** Reads the answer of an inference call into its record. */

interface Event {
  readonly type?: string;
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
  readonly usage?: { readonly cost?: string };
  readonly delta?: string | { readonly text?: string };
  readonly error?: unknown;
  readonly response?: { readonly usage?: { readonly cost?: string }; readonly error?: unknown };
}

/** The text of a whole answer, and the digits of its cost. */
export function readWhole(record: CallRecord, text: string): void {
  const body = parseExact(text) as Record<string, unknown>;
  record.text = WHOLE_TEXTS[record.api](body);
  record.cost = costIn(body['usage']);
  record.ending = 'whole';
}

const costIn = (usage: unknown): string | null => {
  const cost = (usage as { cost?: unknown } | null | undefined)?.cost;
  return cost === undefined || cost === null ? null : String(cost);
};

const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | null | undefined)?.[key], value);

const WHOLE_TEXTS: Readonly<Record<CallApi, (body: unknown) => string>> = {
  chat: (body) => String(at(body, 'choices', 0, 'message', 'content')),
  responses: (body) =>
    String(
      at(
        (at(body, 'output') as { type: string }[] | undefined)?.find(({ type }) => type === 'message'),
        'content',
        0,
        'text',
      ),
    ),
  messages: (body) => String(at(body, 'content', 0, 'text')),
  embeddings: (body) => JSON.stringify(at(body, 'data', 0, 'embedding')),
};

/**
 * Follows a stream to its end. `onEvent` is called after each event; the caller leaves by aborting the request.
 *
 * @throws when the connection breaks off
 */
export async function readStream(
  record: CallRecord,
  body: Dispatcher.ResponseData['body'],
  onEvent: () => void,
): Promise<void> {
  let buffered = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    buffered += decoder.decode(bytes as Buffer, { stream: true });
    for (let end = buffered.indexOf('\n\n'); end !== -1; end = buffered.indexOf('\n\n')) {
      readEvent(record, buffered.slice(0, end));
      buffered = buffered.slice(end + 2);
      onEvent();
    }
  }
  if (buffered.trim() !== '') throw new Error('the stream ended within an event');
}

function readEvent(record: CallRecord, text: string): void {
  const lines = text.split('\n').filter((line) => !line.startsWith(':'));
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  const strays = lines.filter((line) => !/^(data|event|id|retry): /.test(line));
  if (strays.length > 0) {
    record.error = 'a line that is part of no event';
    record.endings += 10;
  }
  if (data.length === 0) return;
  if (data[0] === '[DONE]') {
    if (record.api === 'chat') record.endings += 1;
    return;
  }
  READERS[record.api](record, parseExact(data.join('\n')) as Event);
}

function finish(record: CallRecord, ending: 'completed' | 'failed'): void {
  record.ending = record.ending === 'failed' ? 'failed' : ending;
}

const READERS: Readonly<Record<CallApi, (record: CallRecord, event: Event) => void>> = {
  chat: (record, event) => {
    record.text += event.choices?.[0]?.delta?.content ?? '';
    if (event.error !== undefined) {
      record.error = errorTypeIn(event);
      finish(record, 'failed');
    } else if (event.usage != null) {
      record.cost = costIn(event.usage);
      finish(record, 'completed');
    }
  },
  responses: (record, event) => {
    if (event.type === 'response.output_text.delta') record.text += String(event.delta);
    if (!['response.completed', 'response.incomplete', 'response.failed'].includes(event.type ?? '')) return;
    record.endings += 1;
    record.cost = costIn(event.response?.usage);
    if (event.type === 'response.failed') record.error = errorTypeIn(event.response);
    finish(record, event.type === 'response.failed' ? 'failed' : 'completed');
  },
  messages: (record, event) => {
    if (event.type === 'content_block_delta') record.text += (event.delta as { text?: string }).text ?? '';
    if (event.type === 'message_delta' && event.usage?.cost !== undefined) record.cost = costIn(event.usage);
    if (event.type !== 'message_stop' && event.type !== 'error') return;
    record.endings += 1;
    if (event.type === 'error') record.error = errorTypeIn(event);
    finish(record, event.type === 'error' ? 'failed' : 'completed');
  },
  embeddings: () => undefined,
};
