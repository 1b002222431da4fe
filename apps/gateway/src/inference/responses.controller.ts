import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/caller.decorator';
import { InferenceBody } from '../http/streamed-body.decorator';
import { CallReplier } from './call-replier';
import { InferenceErrorFilter, type ExplainedRequest } from './inference-error.filter';

/** `POST /responses`. Nothing is stored, so there is no route to get a response later. */
@Controller('responses')
@UseFilters(new InferenceErrorFilter())
export class ResponsesController {
  constructor(private readonly replier: CallReplier) {}

  @Post()
  @HttpCode(200)
  @InferenceBody()
  create(@Caller() caller: Principal, @Req() request: ExplainedRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.replier.reply('responses', caller, request, reply);
  }
}
