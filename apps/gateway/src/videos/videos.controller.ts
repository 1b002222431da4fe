import { Controller, Get, Head, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { namedAsSent, readRoutePolicies, toVideoObject, videoModelsOf } from '@libs/inference';
import { keyLimitOf, type KeptVideo } from '@libs/persistence';
import type { ByteRange } from '@libs/platform';
import { requireWorkspace } from '../auth/require-workspace';
import { AcceptsAnyKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { GatewayEnv, publicUrlOf } from '../gateway.env';
import type { BodyRequest } from '../http/body.guard';
import { holdersOf } from '../http/claimant';
import { UploadBody } from '../http/streamed-body.decorator';
import { readIdempotencyKey } from '../idempotency/idempotency-key';
import { credentialScopeOf } from '../routing/credential-scope';
import { InferenceRouting } from '../routing/inference-routing';
import { readByteRange } from './byte-range';
import { VideoContentsService } from './video-contents.service';
import { VideoLimitsService } from './video-limits.service';
import { MAX_VIDEO_BYTES, readVideoRequest } from './video-request';
import { VideosService, type VideoOwner } from './videos.service';

/** Fewest bytes of a video that a client must read within the idle limit: 17 KiB/s for a minute. */
const LEAST_READ_BYTES = 1024 * 1024;

/** Routes for video jobs: start one, and read it. */
@Controller('videos')
export class VideosController {
  constructor(
    private readonly videos: VideosService,
    private readonly contents: VideoContentsService,
    private readonly limits: VideoLimitsService,
    private readonly routing: InferenceRouting,
    private readonly env: GatewayEnv,
  ) {}

  @Post()
  @HttpCode(202)
  @UploadBody(MAX_VIDEO_BYTES)
  async create(@Caller() caller: Principal, @Req() request: BodyRequest): Promise<object> {
    const owner = ownerOf(caller);
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const { dto, names, hash } = await readVideoRequest(request);
    const idempotency = key === null ? null : { key, requestHash: hash() };
    const policies = readRoutePolicies(caller.policies ?? []);
    const defaultSort = caller.settings?.default_provider_sort;
    const traceparent = request.headers['traceparent']?.toString();
    const scope = credentialScopeOf(caller);
    const { claim: memory } = request.life;
    const signal = request.life.earlyEnd();
    const submission = { dto, idempotency, scope, policies, defaultSort, traceparent, memory, signal };
    try {
      const video = await this.limits.submission(owner.workspaceId, () => this.videos.submit(owner, submission));
      return toVideoObject(video, publicUrlOf(this.env));
    } catch (thrown) {
      throw namedAsSent(AppError.from(thrown), names);
    }
  }

  @Get('models')
  @AcceptsAnyKey()
  models(): { data: object[] } {
    return { data: videoModelsOf(this.routing.catalogue()) };
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<object> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    return toVideoObject(await this.videos.get(id, owner), publicUrlOf(this.env));
  }

  @Head(':id/content')
  async head(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Req() request: BodyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { kept, range } = await this.find(caller, id, query, request);
    await describe(reply, kept, range).send();
  }

  @Get(':id/content')
  async content(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Req() request: BodyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { kept, range } = await this.find(caller, id, query, request);
    const bytes = await this.contents.open(kept, range, holdersOf(caller));
    request.life.leastBytes = LEAST_READ_BYTES;
    await describe(reply, kept, range).send(bytes);
  }

  private async find(
    caller: Principal,
    id: string,
    { index }: Readonly<Record<string, unknown>>,
    { headers }: BodyRequest,
  ): Promise<{ kept: KeptVideo; range: ByteRange | null }> {
    const owner = ownerOf(caller);
    await this.limits.read(owner.workspaceId);
    const number = indexOf(index);
    const kept = this.contents.find(await this.videos.get(id, owner), number);
    return { kept, range: readByteRange(headers.range, kept.bytes) };
  }
}

function ownerOf(caller: Principal): VideoOwner {
  const { organizationId, keyHash } = caller;
  const workspaceId = requireWorkspace(caller);
  const { defaultCallbackUrl = null } = caller;
  const terms = { keyLimit: keyLimitOf(caller), budgets: caller.budgets };
  return { organizationId, workspaceId, apiKeyHash: keyHash, ...terms, defaultCallbackUrl };
}

function indexOf(index: unknown): number {
  if (index === undefined || index === '') return 0;
  if (typeof index === 'string' && /^\d{1,4}$/.test(index)) return Number(index);
  throw new AppError('invalid_request', 'index must be a whole number of at least 0', { metadata: { param: 'index' } });
}

function describe(reply: FastifyReply, { bytes, contentType }: KeptVideo, range: ByteRange | null): FastifyReply {
  const length = range === null ? bytes : range.last - range.first + 1;
  return reply
    .status(range === null ? 200 : 206)
    .header('content-type', contentType)
    .header('content-length', length)
    .header('accept-ranges', 'bytes')
    .header('cache-control', 'private, max-age=3600')
    .headers(range === null ? {} : { 'content-range': `bytes ${range.first}-${range.last}/${bytes}` });
}
