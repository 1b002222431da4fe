import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import type { FastifyReply } from 'fastify';
import { AcceptsKeyHeader } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { InferenceBody } from '../http/streamed-body.decorator';
import { CallReplier } from './call-replier';
import { MessagesErrorFilter, type ExplainedRequest } from './inference-error.filter';

/** `POST /messages` and `POST /messages/count_tokens` with the key header and the error format of that API. */
@Controller('messages')
@AcceptsKeyHeader()
@UseFilters(new MessagesErrorFilter())
export class MessagesController {
  constructor(private readonly replier: CallReplier) {}

  @Post()
  @HttpCode(200)
  @InferenceBody()
  create(@Caller() caller: Principal, @Req() request: ExplainedRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.replier.reply('messages', caller, request, reply);
  }

  @Post('count_tokens')
  @HttpCode(200)
  @InferenceBody({ isCharged: false })
  count(@Caller() caller: Principal, @Req() request: ExplainedRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.replier.replyTokenCount(caller, request, reply);
  }
}
