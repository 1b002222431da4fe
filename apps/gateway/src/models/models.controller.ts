import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ModelEntry } from '@libs/inference';
import { AcceptsAnyKey } from '../auth/access.decorators';
import type { ModelEndpoints } from './endpoint-entry';
import { readListPage } from './list-page';
import { ModelListingService, type ListName } from './model-listing.service';

type ListQuery = Readonly<Record<string, unknown>>;

/** The catalogue (interface §4.7, spec 2.7 and E), for keys of either kind. */
@Controller()
@AcceptsAnyKey()
export class ModelsController {
  constructor(private readonly listing: ModelListingService) {}

  @Get('models')
  list(@Query() query: ListQuery, @Res() reply: FastifyReply): void {
    this.send('models', query, reply);
  }

  @Get('embeddings/models')
  listEmbeddings(@Query() query: ListQuery, @Res() reply: FastifyReply): void {
    this.send('embeddings', query, reply);
  }

  @Get('models/count')
  count(): { data: { count: number } } {
    return { data: { count: this.listing.count() } };
  }

  @Get('models/:author/:slug/endpoints')
  endpoints(@Param('author') author: string, @Param('slug') slug: string): { data: ModelEndpoints } {
    return { data: this.listing.endpointsOf(`${author}/${slug}`) };
  }

  @Get('model/:author/:slug')
  show(@Param('author') author: string, @Param('slug') slug: string): { data: ModelEntry } {
    return { data: this.listing.entryOf(`${author}/${slug}`) };
  }

  private send(name: ListName, query: ListQuery, reply: FastifyReply): void {
    const page = this.listing.page(name, readListPage(query));
    void reply.header('content-type', 'application/json; charset=utf-8').send(page);
  }
}
