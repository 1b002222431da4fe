import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { BatchEntriesQueryDto, ListModelsQueryDto, type Principal } from '@libs/contracts';
import type { ModelEntry } from '@libs/inference';
import { validateInstance } from '@libs/platform';
import { AcceptsAnyKey, AcceptsKeyHeader } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import type { ModelEndpoints } from './endpoint-entry';
import { readListPage } from './list-page';
import { ModelListingService } from './model-listing.service';

type ListQuery = Readonly<Record<string, unknown>>;

/** The catalogue, for keys of either kind. Anthropic's clients send them as they do to the Messages API. */
@Controller()
@AcceptsAnyKey()
@AcceptsKeyHeader()
export class ModelsController {
  constructor(private readonly listing: ModelListingService) {}

  @Get('models')
  list(@Query() query: ListQuery, @Res() reply: FastifyReply): void {
    send(reply, this.listing.page('models', readListPage(query), wishesOf(query)));
  }

  @Get('models/user')
  listAllowed(@Caller() caller: Principal, @Query() query: ListQuery, @Res() reply: FastifyReply): void {
    send(reply, this.listing.pageFor(caller.policies ?? [], readListPage(query), batchWishOf(query)));
  }

  @Get('embeddings/models')
  listEmbeddings(@Query() query: ListQuery, @Res() reply: FastifyReply): void {
    send(reply, this.listing.page('embeddings', readListPage(query), batchWishOf(query)));
  }

  @Get('models/count')
  count(@Query() query: ListQuery): { data: { count: number } } {
    return { data: { count: this.listing.count(wishesOf(query)) } };
  }

  @Get('models/:author/:slug/endpoints')
  endpoints(@Param('author') author: string, @Param('slug') slug: string): { data: ModelEndpoints } {
    return { data: this.listing.endpointsOf(`${author}/${slug}`) };
  }

  /** For a name that is one part of the path: an alias, or an id with its slash escaped. */
  @Get('models/:id/endpoints')
  endpointsByName(@Param('id') id: string): { data: ModelEndpoints } {
    return { data: this.listing.endpointsOf(id) };
  }

  /** For OpenAI's clients, which request `models/<id>` with an escaped slash and expect the bare entry. */
  @Get('models/:id')
  retrieve(@Param('id') id: string): ModelEntry {
    return this.listing.entryOf(id);
  }

  @Get('models/:author/:slug')
  retrieveByParts(@Param('author') author: string, @Param('slug') slug: string): ModelEntry {
    return this.listing.entryOf(`${author}/${slug}`);
  }

  @Get('model/:author/:slug')
  show(@Param('author') author: string, @Param('slug') slug: string): { data: ModelEntry } {
    return { data: this.listing.entryOf(`${author}/${slug}`) };
  }
}

/** Unknown fields are ignored. */
function wishesOf(query: ListQuery): ListModelsQueryDto {
  return validateInstance(ListModelsQueryDto, query);
}

/** For lists that accept no other parameter. */
function batchWishOf(query: ListQuery): BatchEntriesQueryDto {
  const { batch } = validateInstance(BatchEntriesQueryDto, query);
  return batch === undefined ? {} : { batch };
}

function send(reply: FastifyReply, page: Buffer): void {
  void reply.header('content-type', 'application/json; charset=utf-8').send(page);
}
