import { Readable } from 'node:stream';
import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, StreamableFile } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { toBatchObject, type Principal } from '@libs/contracts';
import { readRoutePolicies } from '@libs/inference';
import { keyLimitOf, type BatchView } from '@libs/persistence';
import { requireWorkspace } from '../auth/require-workspace';
import { Caller } from '../auth/caller.decorator';
import { GatewayEnv } from '../gateway.env';
import type { LiveRequest } from '../http/in-flight';
import { streamBody } from '../http/read-body';
import { NoBody, StreamedBody } from '../http/streamed-body.decorator';
import { readIdempotencyKey } from '../idempotency/idempotency-key';
import { metadataMemberFor } from '../http/metadata-wish';
import { BatchIntakeService, type BatchCaller } from './batch-intake.service';
import { BatchLimitsService } from './batch-limits.service';
import { readBatchListQuery } from './batch-list-query';
import { BatchRemovalService, type BatchDeletedObject } from './batch-removal.service';
import { BatchRetryService } from './batch-retry.service';
import { isTerminal, toQuoteObject } from './batch-view';
import { BatchesService } from './batches.service';

/** Routes for batches: submit, read, list, cancel, delete, and retry failed lines. */
@Controller('batches')
export class BatchesController {
  constructor(
    private readonly intake: BatchIntakeService,
    private readonly batches: BatchesService,
    private readonly limits: BatchLimitsService,
    private readonly retries: BatchRetryService,
    private readonly removal: BatchRemovalService,
    private readonly env: GatewayEnv,
  ) {}

  @Post()
  @HttpCode(202)
  @StreamedBody()
  async create(@Caller() caller: Principal, @Req() request: LiveRequest): Promise<object> {
    const owner = ownerOf(caller, request);
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const signal = request.life.earlyEnd();
    const submit = (): Promise<BatchView> => this.intake.receive(owner, streamBody(request.raw), key, signal);
    return this.accepted(await this.limits.submission(owner.workspaceId, submit), request);
  }

  @Get()
  async list(@Caller() caller: Principal, @Query() query: Readonly<Record<string, unknown>>): Promise<object> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    return this.batches.list(owner, readBatchListQuery(query));
  }

  /** `results=false` leaves the results out. After the retention time of results, this is the only form that works. */
  @Get(':id')
  async get(
    @Caller() caller: Principal,
    @Req() request: LiveRequest,
    @Param('id') id: string,
    @Query('results') results: unknown,
  ): Promise<object> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    if (results === 'false') return toBatchObject(await this.batches.find(id, owner));
    const batch = await this.batches.get(id, owner);
    if (!isTerminal(batch)) return toBatchObject(batch);
    const object = await this.batches.write(batch, owner, request.life.claim);
    return new StreamableFile(Readable.from(object, { objectMode: false }), {
      type: 'application/json; charset=utf-8',
    });
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @NoBody()
  async cancel(@Caller() caller: Principal, @Param('id') id: string): Promise<object> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    return toBatchObject(await this.batches.cancel(id, owner));
  }

  @Post(':id/retry')
  @HttpCode(202)
  @NoBody()
  async retry(@Caller() caller: Principal, @Param('id') id: string, @Req() request: LiveRequest): Promise<object> {
    const owner = ownerOf(caller, request);
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const signal = request.life.earlyEnd();
    const submit = (): Promise<BatchView> => this.retries.retry(id, owner, key, signal);
    return this.accepted(await this.limits.submission(owner.workspaceId, submit), request);
  }

  @Delete(':id')
  async delete(@Caller() caller: Principal, @Param('id') id: string): Promise<BatchDeletedObject> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    return this.removal.remove(id, owner);
  }

  /** Returns the batch, with its quote if the caller asked for metadata. */
  private accepted(batch: BatchView, { headers }: FastifyRequest): object {
    const metadataMember = metadataMemberFor(headers, this.env.SERVICE_NAME);
    if (metadataMember === null) return toBatchObject(batch);
    return { ...toBatchObject(batch), [metadataMember]: { quote: batch.quote && toQuoteObject(batch.quote) } };
  }
}

function ownerOf(caller: Principal, request?: FastifyRequest): BatchCaller {
  const { organizationId, keyHash } = caller;
  const workspaceId = requireWorkspace(caller);
  const policies = readRoutePolicies(caller.policies ?? []);
  const { defaultCallbackUrl = null } = caller;
  return {
    organizationId,
    workspaceId,
    apiKeyHash: keyHash,
    keyLimit: keyLimitOf(caller),
    budgets: caller.budgets,
    policies,
    defaultCallbackUrl,
    traceparent: request?.headers['traceparent']?.toString(),
  };
}
