import { Readable } from 'node:stream';
import { Controller, Get, HttpCode, Param, Post, Req, StreamableFile } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BatchView } from '@libs/persistence';
import { Caller } from '../auth/caller.decorator';
import { streamBody } from '../http/read-body';
import { StreamedBody } from '../http/streamed-body.decorator';
import { readIdempotencyKey } from '../idempotency/idempotency-key';
import { BatchIntakeService } from './batch-intake.service';

import { BatchLimitsService } from './batch-limits.service';
import { toBatchObject } from './batch-view';
import { BatchesService } from './batches.service';

/** Interface §4.1 and §4.2. */
@Controller('batches')
export class BatchesController {
  constructor(
    private readonly intake: BatchIntakeService,
    private readonly batches: BatchesService,
    private readonly limits: BatchLimitsService,
  ) {}

  @Post()
  @HttpCode(202)
  @StreamedBody()
  async create(@Caller() caller: Principal, @Req() request: FastifyRequest): Promise<object> {
    const owner = ownerOf(caller);
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const submit = (): Promise<BatchView> => this.intake.receive(owner, streamBody(request.raw), key);
    return toBatchObject(await this.limits.submission(owner.workspaceId, submit));
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<StreamableFile> {
    const { workspaceId } = ownerOf(caller);
    await this.limits.read(workspaceId);
    const batch = await this.batches.get(id, workspaceId);
    return new StreamableFile(Readable.from(this.batches.write(batch), { objectMode: false }), {
      type: 'application/json; charset=utf-8',
    });
  }
}

function ownerOf({ organizationId, workspaceId, keyHash }: Principal): {
  organizationId: string;
  workspaceId: string;
  apiKeyHash: string;
} {
  if (workspaceId === null) throw new AppError('permission_denied', 'This key belongs to no workspace');
  return { organizationId, workspaceId, apiKeyHash: keyHash };
}
