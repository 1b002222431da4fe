import { spliceMembers } from '@libs/json';
import { mintId, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  atTurnEnd,
  LeftoverReads,
  failedRouteOf,
  APIS,
  isConversationApi,
  type CallableApi,
  type Served,
  type StreamableApi,
  type UnansweredCall,
} from '@libs/inference';
import type { FastifyReply } from 'fastify';
import type { CallContents } from '../generations/call-contents';
import { endWith, SMALL_ANSWER_BYTES } from '../http/whole-answer';
import { clientOf } from '../generations/call-client';
import { failureMetadata, failureUsage } from './call-failure';
import { CallLife } from './call-life';
import { checkCall } from './checked-call';
import type { IncomingCall } from '../generations/incoming-call';
import type { ExplainedRequest } from './inference-error.filter';
import { InferenceService, type OpenedStream } from './inference.service';
import { EventStreamReply, type StreamPace } from './event-stream-reply';
import { MetadataStream } from './metadata-stream';
import { toolWarning } from './tool-warning';
import { metadataMemberFor } from '../http/metadata-wish';

/** One call from its request to its reply. */
interface Conversation {
  readonly call: IncomingCall;
  readonly life: CallLife;
  readonly request: ExplainedRequest;
  readonly reply: FastifyReply;
  /** Null if nothing of this call is stored. */
  readonly contents: CallContents | null;
  /** Null if the caller did not ask for metadata. */
  readonly metadataMember: string | null;
  /** By `performance.now`. */
  readonly startedMs: number;
}

/** A stream that has begun. */
interface Writing {
  readonly written: Promise<void>;
}

/** Copies of fields that a stream repeats: their bytes, their values, and an event that contains them. */
const COPIES_OF_KEPT = 3;

const STREAM_HEADERS = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
  'x-accel-buffering',
  'no',
];

/**
 * The common work of the controllers of all APIs: from an authenticated request with a body to an answer or a stream.
 */
export class CallReplier {
  constructor(
    private readonly inference: InferenceService,
    /** The `<service>` of headers and members. */
    private readonly serviceName: string,
    /** Null if no contents of calls are stored. */
    private readonly contents: CallContents | null = null,
    private readonly pace: Partial<StreamPace> = {},
    private readonly leftovers = new LeftoverReads(),
  ) {}

  /** @throws AppError, until the first byte has been sent */
  reply(api: CallableApi, caller: Principal, request: ExplainedRequest, reply: FastifyReply): Promise<void> {
    const talk = this.begin(caller, request, reply);
    if (!isConversationApi(api) || !InferenceService.wantsStream(talk.call.parsed)) return this.replyWhole(api, talk);
    return this.replyStream(api, talk);
  }

  /** Answers with the tokens of a prompt for `messages`. @throws AppError */
  async replyTokenCount(caller: Principal, request: ExplainedRequest, reply: FastifyReply): Promise<void> {
    const talk = this.begin(caller, request, reply);
    try {
      send(request, reply, JSON.stringify({ input_tokens: await this.inference.countTokens(talk.call) }));
    } catch (thrown) {
      throw await this.explain(talk, thrown);
    }
  }

  private begin(caller: Principal, request: ExplainedRequest, reply: FastifyReply): Conversation {
    const generationId = mintId('gen');
    const life = new CallLife(request.life, this.leftovers.termsFor(caller.organizationId));
    const { headers } = request;
    const session = headers['x-session-id'];
    const call: IncomingCall = {
      generationId,
      arrivedMs: request.life.startedMs,
      caller,
      body: request.rawBody!,
      parsed: request.body,
      prompt: request.prompt,
      sessionId: typeof session === 'string' ? session : null,
      betas: (headers['x-anthropic-beta'] ?? headers['anthropic-beta'])?.toString(),
      client: clientOf(headers, request.id, this.serviceName),
      abort: life.abort,
      memory: request.life.claim,
    };
    const metadataMember = metadataMemberFor(headers, this.serviceName);
    const contents = this.contents?.isWanted(call) ? this.contents : null;
    return { call, life, request, reply, contents, metadataMember, startedMs: request.life.startedMs };
  }

  /** Returns the error for the caller, and adds its usage next to it, and the metadata if the caller asked for them. */
  private async explain({ life, request, metadataMember }: Conversation, thrown: unknown): Promise<AppError> {
    const metadata = metadataMember === null ? null : await failureMetadata(thrown);
    const usage = failureUsage(thrown);
    request.besideError = {
      ...(usage !== null && { usage }),
      ...(metadataMember !== null && metadata !== null && { [metadataMember]: metadata }),
    };
    return life.explain(thrown);
  }

  private async failed(api: CallableApi, talk: Conversation, thrown: unknown): Promise<AppError> {
    const { call, reply, contents } = talk;
    const error = await this.explain(talk, thrown);
    reply.header('x-generation-id', call.generationId);
    contents?.failed(api, call, error);
    return error;
  }

  private async replyWhole(api: CallableApi, talk: Conversation): Promise<void> {
    try {
      await this.answer(api, talk);
    } catch (thrown) {
      throw await this.failed(api, talk, thrown);
    }
  }

  private async replyStream(api: StreamableApi, talk: Conversation): Promise<void> {
    const events = this.eventStream(talk);
    let writing: Writing;
    try {
      const opened = await events.whileOpening(this.inference.stream(api, talk.call));
      writing = this.write(api, talk, events, opened);
    } catch (thrown) {
      const error = await this.failed(api, talk, thrown);
      if (!events.hasBegun) throw error;
      writing = { written: events.fail(APIS[api].failureEvents(unansweredCall(api, talk, thrown), error)) };
    }
    // Not awaited: otherwise this function would keep the conversation and its prompt in memory until the stream is
    // over.
    return writing.written;
  }

  private async answer(
    api: CallableApi,
    { call, request, reply, contents, metadataMember, startedMs }: Conversation,
  ): Promise<void> {
    const result = await this.inference.answer(api, call);
    contents?.answered(api, call, result);
    this.warn(request, result);
    if (metadataMember === null) return send(request, reply, result.body, call.generationId);
    const metadata = this.metadataOf(api, result, startedMs);
    const body = spliceMembers(result.body, { set: { [metadataMember]: metadata } });
    send(request, reply, body, call.generationId);
  }

  private eventStream({ call: { generationId }, request, reply }: Conversation): EventStreamReply {
    const { headers } = request.life;
    const writeHead = (): void => {
      reply.hijack();
      reply.raw.writeHead(200, [...headers, 'x-generation-id', generationId, ...STREAM_HEADERS]);
    };
    return new EventStreamReply(reply.raw, {
      serviceName: this.serviceName,
      writeHead,
      pace: this.pace,
      memory: request.life.claim,
    });
  }

  private write(api: StreamableApi, talk: Conversation, events: EventStreamReply, begun: OpenedStream): Writing {
    const { call, life, request, contents, metadataMember: name, startedMs } = talk;
    const opened = contents === null ? begun : { ...begun, stream: contents.listenTo(api, call, begun) };
    const value = (): string => this.metadataOf(api, opened, startedMs);
    const stream = name === null ? opened.stream : new MetadataStream(api, call.generationId, opened, { name, value });
    // The answer is stored together with the prompt when it is over.
    this.warn(request, opened);
    letGo(request, contents === null ? opened : { ...opened, keepsRequest: true });
    return { written: events.write(stream, () => stream.lastWords(opened.refusal() ?? life.reason)) };
  }

  /**
   * Names tools that were left out in a header. A stream that sent a comment before its first event has no such header.
   */
  private warn({ life }: ExplainedRequest, { losses }: Served): void {
    const warning = toolWarning(losses);
    if (warning !== null) life.addHeader(`x-${this.serviceName}-warning`, warning);
  }

  private metadataOf(api: CallableApi, served: Served, startedMs: number): string {
    return JSON.stringify(this.inference.metadataOf(api, served, performance.now() - startedMs));
  }
}

/** Returns the facts that a client may know about a call that no provider answered. */
function unansweredCall(api: StreamableApi, { call, request }: Conversation, thrown: unknown): UnansweredCall {
  const { generationId, body, parsed, caller } = call;
  const last = thrown instanceof AppError ? failedRouteOf(thrown)?.attempts.at(-1) : undefined;
  return {
    generationId,
    requestId: request.id,
    requestBody: body,
    model: last?.model ?? checkCall(api, parsed, caller.settings).route.model,
    provider: last?.providerName ?? null,
    beside: request.besideError ?? {},
  };
}

/**
 * Releases the request body, which may be large, before a long answer. Memory that the answer needs stays reserved:
 * fields that it repeats, content that plugins and tools downloaded, and the whole request if it is needed later.
 */
function letGo(request: ExplainedRequest, { keepsRequest = false, keptBytes = 0 }: OpenedStream): void {
  request.body = undefined;
  request.rawBody = undefined;
  if (!keepsRequest) request.life.claim.freeMemory(keptBytes * COPIES_OF_KEPT);
}

/** Written directly to the socket's response: the body is complete, so the framework has nothing left to do. */
export function send(
  { life }: ExplainedRequest,
  reply: FastifyReply,
  body: Buffer | string,
  generationId: string | null = null,
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  // A caller may read its answer slowly.
  if (bytes.length > SMALL_ANSWER_BYTES) life.claim.keep(bytes.length);
  const length = String(bytes.length);
  const head = [...life.headers, 'content-type', 'application/json; charset=utf-8', 'content-length', length];
  if (generationId !== null) head.push('x-generation-id', generationId);
  reply.hijack();
  reply.raw.writeHead(200, head);
  atTurnEnd(() => endWith(reply.raw, bytes));
}
