import { findMember, scanMembers, spliceMembers, parseJson, objectOf, stringOf } from '@libs/json';
import { withPlacedMark } from '../dialects/anthropic-messages';
import { bedrockConverse } from '../dialects/bedrock-converse';
import { authorizationOf } from './bedrock-authorization';
import { readInvocation } from '../dialects/bedrock-embeddings/answer-reader';
import { toInvocations } from '../dialects/bedrock-embeddings/request-writer';
import { writeEmbeddingsAnswer } from '../dialects/openai-embeddings/answer-writer';
import { callInOrder } from '../wire/ordered-calls';
import { bedrockError, errorWithin } from './bedrock-error';
import { MalformedEventStream, type EventStreamMessage } from './event-stream-decoder';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { ReframedStream, serverSentEvent } from './reframed-stream';
import { tierHeader } from './tier-header';
import type { UpstreamReply } from '../wire/upstream-exchange';
import type { UpstreamHttp } from '../wire/upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream';
const ANTHROPIC_VERSION = '"bedrock-2023-05-31"';
/** Fields of Anthropic's messages that Bedrock has in the path or does not know, and refuses in a body. */
const NOT_IN_BODY: readonly string[] = ['model', 'stream', 'service_tier', 'inference_geo', 'container'];
const TIER_HEADER = 'x-amzn-bedrock-service-tier';
/** Most calls at once for one list of texts. */
const CALLS_AT_ONCE = 8;
const METRICS = 'amazon-bedrock-invocationMetrics';

/**
 * Amazon Bedrock's runtime API: conversations of all models in Bedrock's dialect, messages of Anthropic's models in
 * Anthropic's dialect, and embeddings with one text or one list of texts per call.
 */
export class BedrockProvider implements ProviderAdapter {
  readonly takesLinks = false;
  readonly conversation = bedrockConverse;
  readonly #http: UpstreamHttp;
  readonly #clock: () => number;

  /** `clock` returns milliseconds since the epoch; it dates the signatures. */
  constructor(http: UpstreamHttp, clock: () => number = Date.now) {
    this.#http = http;
    this.#clock = clock;
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('converse', call);
  }

  converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#stream('converse-stream', call, toEvent);
  }

  messages(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('invoke', { ...call, ...asInvocation(call) });
  }

  messagesStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#stream('invoke-with-response-stream', { ...call, ...asInvocation(call) }, toMessageEvent);
  }

  /** Makes as many calls as the model needs for the inputs. */
  async embed(call: UpstreamCall): Promise<UpstreamResult> {
    const { endpoint } = call;
    const invocations = toInvocations(call.body, endpoint);
    return await callInOrder(
      {
        items: invocations.batches,
        mostAtOnce: CALLS_AT_ONCE,
        inputsOf: ({ inputs }) => inputs,
        ask: async ({ body }, one) => readInvocation(await this.#post('invoke', { ...one, body }), endpoint),
        join: (embedded) => writeEmbeddingsAnswer(embedded, invocations, endpoint),
      },
      call,
    );
  }

  async #post(action: string, call: UpstreamCall): Promise<UpstreamReply> {
    const path = pathOf(call, action);
    const reply = await this.#http.request(path, this.#headersOf(call, path, JSON_TYPE), call);
    if (reply.status >= 200 && reply.status < 300) return reply;
    throw bedrockError(call.endpoint.provider, reply.status, reply.headers, reply.body);
  }

  async #stream(
    action: string,
    call: UpstreamCall,
    reframe: (message: EventStreamMessage) => Buffer,
  ): Promise<UpstreamStream> {
    const { provider } = call.endpoint;
    const path = pathOf(call, action);
    const opened = await this.#http.stream(path, this.#headersOf(call, path, EVENT_STREAM_TYPE), call);
    if (!('read' in opened)) throw bedrockError(provider, opened.status, opened.headers, opened.body);
    return new ReframedStream(opened, provider, (message) => {
      const error = errorWithin(message, provider);
      if (error !== null) throw error;
      return reframe(message);
    });
  }

  #headersOf(call: UpstreamCall, path: string, accept: string): string[] {
    const list = ['content-type', JSON_TYPE, 'accept', accept, ...authorizationOf(call, path, this.#clock())];
    for (const [name, value] of Object.entries(call.headers ?? {})) list.push(name, value);
    return list;
  }
}

/** Escapes the model's id, which may contain colons and, in resource names, slashes. */
function pathOf({ endpoint }: UpstreamCall, action: string): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/${action}`;
}

/** Returns the call with a body in Bedrock's form: betas are in the body, not in a header; the tier is in a header. */
function asInvocation({ endpoint, body, headers = {} }: UpstreamCall): Pick<UpstreamCall, 'body' | 'headers'> {
  const isBeta = ([name]: readonly [string, string]) => name.toLowerCase() === 'anthropic-beta';
  const betas = Object.entries(headers)
    .filter(isBeta)
    .flatMap(([, value]) => value.split(','))
    .map((beta) => beta.trim());
  const set = {
    anthropic_version: ANTHROPIC_VERSION,
    ...(betas.length > 0 && { anthropic_beta: JSON.stringify(betas) }),
  };
  return {
    body: spliceMembers(withPlacedMark(body), { set, remove: NOT_IN_BODY }),
    headers: {
      ...Object.fromEntries(Object.entries(headers).filter((header) => !isBeta(header))),
      ...tierHeader(TIER_HEADER, endpoint),
    },
  };
}

function toEvent({ headers, payload }: EventStreamMessage): Buffer {
  return serverSentEvent(headers.get(':event-type') ?? '', payload);
}

/**
 * Returns the event of Anthropic's stream that a chunk contains as base64. The last one also has counts for Amazon's
 * metrics.
 */
function toMessageEvent({ headers, payload }: EventStreamMessage): Buffer {
  const bytes = stringOf(objectOf(parseJson(payload))['bytes']);
  if (headers.get(':event-type') !== 'chunk' || bytes === undefined) {
    throw new MalformedEventStream('a message is no chunk');
  }
  const event = scanMembers(Buffer.from(bytes, 'base64'));
  const type = findMember(event, 'type');
  const name = type && parseJson(event.bytes.subarray(type.valueStart, type.valueEnd));
  const data = findMember(event, METRICS) ? spliceMembers(event, { remove: [METRICS] }) : event.bytes;
  return serverSentEvent(stringOf(name) ?? '', data);
}
