import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import type { FastifyReply } from 'fastify';
import { Caller } from '../auth/caller.decorator';
import { UploadBody } from '../http/streamed-body.decorator';
import type { ExplainedRequest } from './inference-error.filter';
import { CallErrorFilter } from './call-error.filter';
import { MAX_TRANSCRIPTION_BYTES } from './transcription-upload';
import { TranscriptionReplier } from './transcription-replier';

/** `POST /audio/transcriptions`. */
@Controller('audio/transcriptions')
@UseFilters(new CallErrorFilter('transcription'))
export class TranscriptionsController {
  constructor(private readonly replier: TranscriptionReplier) {}

  @Post()
  @HttpCode(200)
  @UploadBody(MAX_TRANSCRIPTION_BYTES)
  create(@Caller() caller: Principal, @Req() request: ExplainedRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.replier.reply(caller, request, reply);
  }
}
