import { spliceMembers } from '@libs/json';
import { mintId, type Principal } from '@libs/contracts';
import { LeftoverReads, routingMetadata, type TranscriptionAnswer } from '@libs/inference';
import type { FastifyReply } from 'fastify';
import { clientOf } from '../generations/call-client';
import { failureMetadata } from './call-failure';
import { CallLife } from './call-life';
import { send } from './call-replier';
import type { IncomingCall } from '../generations/incoming-call';
import type { ExplainedRequest } from './inference-error.filter';
import { metadataMemberFor } from '../http/metadata-wish';
import type { IncomingTranscription } from './incoming-transcription';
import type { TranscriptionIntake } from './transcription-intake';
import type { TranscriptionService } from './transcription.service';

const NO_BODY = Buffer.alloc(0);

/** Answers transcription requests: from an authenticated request with an unread recording to its text. */
export class TranscriptionReplier {
  constructor(
    private readonly intake: TranscriptionIntake,
    private readonly transcriptions: TranscriptionService,
    /** The `<service>` of headers and members. */
    private readonly serviceName: string,
    private readonly leftovers = new LeftoverReads(),
  ) {}

  /** @throws AppError */
  async reply(caller: Principal, request: ExplainedRequest, reply: FastifyReply): Promise<void> {
    const generationId = mintId('gen');
    const life = new CallLife(request.life, this.leftovers.termsFor(caller.organizationId));
    const member = metadataMemberFor(request.headers, this.serviceName);
    try {
      const incoming = await this.intake.read(request, { abort: life.abort, memory: request.life.claim });
      const call = this.#callOf(generationId, caller, request, incoming, life);
      const answer = await this.transcriptions.transcribe(call, incoming);
      const body = member === null ? answer.body : withMetadata(answer, member, request.life.startedMs);
      send(request, reply, body, generationId);
    } catch (thrown) {
      reply.header('x-generation-id', generationId);
      const metadata = member === null ? null : await failureMetadata(thrown);
      if (member !== null && metadata !== null) request.besideError = { [member]: metadata };
      throw life.explain(thrown);
    }
  }

  #callOf(
    generationId: string,
    caller: Principal,
    { headers, id, life: { claim, startedMs } }: ExplainedRequest,
    { dto }: IncomingTranscription,
    { abort }: CallLife,
  ): IncomingCall {
    const session = headers['x-session-id'];
    return {
      generationId,
      arrivedMs: startedMs,
      caller,
      body: NO_BODY,
      parsed: dto,
      sessionId: typeof session === 'string' ? session : null,
      client: clientOf(headers, id, this.serviceName),
      abort,
      memory: claim,
    };
  }
}

function withMetadata(answer: TranscriptionAnswer, member: string, startedMs: number): Buffer {
  const { plan, attempts, body } = answer;
  if (plan === undefined) return body;
  const generationMs = performance.now() - startedMs;
  const metadata = routingMetadata({ plan, attempts, served: answer, generationMs });
  return spliceMembers(body, { set: { [member]: JSON.stringify(metadata) } });
}
