import { join } from 'node:path';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { LiveRequest } from '../http/in-flight';
import { Public } from '../auth/access.decorators';
import { LimitedBySource } from '../limits/rate-limit.guard';
import { StaticFile } from './static-file';

const DOCUMENT = new StaticFile(join(__dirname, 'openapi.json'), 'application/json; charset=utf-8');

/** Serves the OpenAPI document of this API; `npm run openapi` generates it. */
@Controller('openapi.json')
@Public()
@LimitedBySource('consent-pages')
export class OpenapiController {
  @Get()
  async show(@Req() request: LiveRequest, @Res() reply: FastifyReply): Promise<void> {
    await DOCUMENT.send(request, reply.header('cache-control', 'public, max-age=300'));
  }
}
