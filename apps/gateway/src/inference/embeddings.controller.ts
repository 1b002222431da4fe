import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { mintId, type Principal } from '@libs/contracts';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/caller.decorator';
import type { BodyRequest } from '../http/body.guard';
import { InferenceBody } from '../http/streamed-body.decorator';
import { CallLife } from './call-life';
import { InferenceService } from './inference.service';
import { sendAnswer } from './send-answer';

/** `POST /embeddings` (interface §4.6). */
@Controller('embeddings')
export class EmbeddingsController {
  constructor(private readonly inference: InferenceService) {}

  @Post()
  @HttpCode(200)
  @InferenceBody()
  async create(@Caller() caller: Principal, @Req() request: BodyRequest, @Res() reply: FastifyReply): Promise<void> {
    const generationId = mintId('gen');
    reply.header('x-generation-id', generationId);
    const life = new CallLife(request.life);
    try {
      const { abort } = life;
      sendAnswer(
        reply,
        await this.inference.embed({ generationId, caller, body: request.rawBody!, parsed: request.body, abort }),
      );
    } catch (error) {
      throw life.explain(error);
    }
  }
}
