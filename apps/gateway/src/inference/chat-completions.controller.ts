import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { mintId, type Principal } from '@libs/contracts';
import { AppError, toEnvelope } from '@libs/errors';
import { ServicesEnv } from '@libs/platform';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/caller.decorator';
import type { BodyRequest } from '../http/body.guard';
import { InferenceBody } from '../http/streamed-body.decorator';
import { InferenceService, type IncomingCall, type OpenedStream } from './inference.service';
import { CallLife } from './call-life';
import { sendAnswer } from './send-answer';
import { writeStream } from './sse';

/** `POST /chat/completions` (spec B). */
@Controller('chat/completions')
export class ChatCompletionsController {
  constructor(
    private readonly inference: InferenceService,
    private readonly env: ServicesEnv,
  ) {}

  @Post()
  @HttpCode(200)
  @InferenceBody()
  async create(@Caller() caller: Principal, @Req() request: BodyRequest, @Res() reply: FastifyReply): Promise<void> {
    const generationId = mintId('gen');
    reply.header('x-generation-id', generationId);
    const life = new CallLife(request.life);
    const call: IncomingCall = {
      generationId,
      caller,
      body: request.rawBody!,
      parsed: request.body,
      abort: life.abort,
    };
    try {
      if (InferenceService.wantsStream(call.parsed)) await this.stream(call, life, reply);
      else sendAnswer(reply, await this.inference.chat(call));
    } catch (error) {
      throw life.explain(error);
    }
  }

  private async stream(call: IncomingCall, life: CallLife, reply: FastifyReply): Promise<void> {
    const opened = await this.inference.chatStream(call);
    reply.hijack();
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    await writeStream(reply.raw, opened.stream, {
      serviceName: this.env.SERVICE_NAME,
      lastWords: () => lastWords(call.generationId, opened, life.reason),
    });
  }
}

/** The error that ends a stream from our side (spec §7), and the word that ends every stream. */
function lastWords(generationId: string, { model, endpoint, refusal }: OpenedStream, reason: AppError): string {
  const chunk = {
    id: generationId,
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1_000),
    model: model.slug,
    provider: endpoint.provider.name,
    error: toEnvelope(refusal() ?? reason).error,
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }],
  };
  return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
}
