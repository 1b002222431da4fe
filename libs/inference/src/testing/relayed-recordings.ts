import { AppError } from '@libs/errors';
import { dialectOf } from '../dialects';
import { openTurn } from '../dialects/conversation-turn';
import type { AnswerContext } from '../dialects/dialect';
import { TRANSLATIONS, type StreamableApi } from '../dialects/dialect-pairs';
import { ADAPTER_METHODS } from '../providers/upstream-api';
import { TranslatedStream } from '../dialects/translated-stream';
import type { StreamReader } from '../dialects/translation';
import { Cancellation, type CancelSignal } from '../model/cancellation';
import { createProviderAdapters } from '../providers';
import type { UpstreamHttp } from '../wire/upstream-http';
import type { UpstreamStream } from '../wire/upstream-stream';
import { aModel, anEndpoint, aProvider } from './catalogue-fixture';
import { PROVIDER_RECORDINGS, SHORT_RECORDINGS, type RecordedStream } from './recorded-streams';

/** The caller's API; `turn` is one turn of a conversation with server tools. */
export type Asker = StreamableApi | 'turn';

export const ASKERS: readonly Asker[] = ['chat', 'responses', 'messages', 'turn'];

const endpoints = new Map(
  [...PROVIDER_RECORDINGS, ...SHORT_RECORDINGS].map(({ protocol }) => [
    protocol,
    anEndpoint({ provider: aProvider({ protocol }), contextLength: null }),
  ]),
);

const REQUEST = Buffer.from(JSON.stringify({ model: 'acme/large', messages: [], input: 'x', max_tokens: 99 }));
/** Google gives its calls no ids, so the reader makes some. */
const RANDOM_ID = /call_[0-9a-f]{8}-[0-9a-f-]{27}/g;
const TIMEOUTS = { headersMs: 1, idleMs: 1, totalMs: 1 };

/** What the caller reads of a stream, and what is recorded. */
export interface Relayed {
  /** The bytes; of a turn the events, each as a line of JSON. Null if the stream failed before it opened. */
  readonly text: string | null;
  /** Usage, cost, state, and the code of the error. */
  readonly outcome: string;
}

/** Relays these chunks of a provider's body to a caller. */
export async function relay(asker: Asker, source: RecordedStream, chunks: readonly Buffer[]): Promise<Relayed> {
  const endpoint = endpoints.get(source.protocol)!;
  const context: AnswerContext = {
    generationId: 'gen-1-abc',
    model: aModel({ endpoints: [endpoint] }),
    endpoint,
    priceList: 'standard',
    beganMs: 0,
    requestBody: REQUEST,
  };
  try {
    const upstream = await framed(source, chunks, context);
    const stream = await opened(asker, source, upstream, context);
    let text = '';
    for await (const pieces of stream) {
      for (const piece of pieces) text += 'bytes' in piece ? piece.bytes.toString() : jsonLine(piece);
    }
    text = text.replace(RANDOM_ID, 'call_id');
    return { text, outcome: jsonLine(await stream.outcome) };
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    return { text: null, outcome: thrown.code };
  }
}

/** What a call is answered, by the signal of the call. */
const bodies = new WeakMap<CancelSignal, UpstreamStream>();
const http: Pick<UpstreamHttp, 'stream'> = { stream: async (_path, _headers, { signal }) => bodies.get(signal)! };
const adapters = createProviderAdapters(http as UpstreamHttp);

/** The body as the provider's adapter hands it out, which may have another framing. */
function framed({ protocol, api }: RecordedStream, chunks: readonly Buffer[], { endpoint }: AnswerContext) {
  const left = chunks[Symbol.iterator]();
  const signal = new Cancellation();
  bodies.set(signal, {
    read: async () => left.next().value ?? null,
    leave: () => 0,
    cancel: () => undefined,
    discard: () => undefined,
  });
  const call = { endpoint, apiKey: null, body: Buffer.from('{}'), signal, timeouts: TIMEOUTS };
  return adapters.get(protocol)![ADAPTER_METHODS[api].stream]!(call);
}

function opened(asker: Asker, source: RecordedStream, upstream: UpstreamStream, context: AnswerContext) {
  if (asker === source.api) return dialectOf(asker).openStream!(upstream, context);
  const reader = readerOf(source, context);
  if (asker === 'turn') return openTurn(upstream, context, reader);
  const writer = TRANSLATIONS.get(asker)!.caller.writeStream(context);
  return TranslatedStream.open(upstream, context, { reader, writer });
}

function readerOf({ protocol, api }: RecordedStream, { endpoint }: AnswerContext): StreamReader {
  if (api !== 'conversation') return TRANSLATIONS.get(api)!.upstream.readStream(endpoint);
  return adapters.get(protocol)!.conversation!.readStream(endpoint);
}

function jsonLine(value: unknown): string {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === 'bigint') return member.toString();
    return member instanceof AppError ? member.code : member;
  });
  return `${text}\n`;
}
