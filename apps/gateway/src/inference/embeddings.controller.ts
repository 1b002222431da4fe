import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/caller.decorator';
import { InferenceBody } from '../http/streamed-body.decorator';
import { CallErrorFilter } from './call-error.filter';
import { CallReplier } from './call-replier';
import type { ExplainedRequest } from './inference-error.filter';

/** `POST /embeddings`. */
@Controller('embeddings')
@UseFilters(new CallErrorFilter('embeddings'))
export class EmbeddingsController {
  constructor(private readonly replier: CallReplier) {}

  @Post()
  @HttpCode(200)
  @InferenceBody()
  create(@Caller() caller: Principal, @Req() request: ExplainedRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.replier.reply('embeddings', caller, request, reply);
  }
}
