import { AuditRepository, VideoReviewsRepository } from '@libs/persistence';
import type { Command } from '../command';
import { table } from '../table';

const LIMIT = 100;

/** Lists jobs to look for in the provider's console, by their model and time. */
export const videosInReview: Command = {
  name: 'videos in-review',
  summary: 'Show the video jobs for which it is unknown whether the provider accepted them',
  usage: '',
  options: {},
  positionals: [],
  async run(_args, installation) {
    const database = await installation.database();
    const videos = await new VideoReviewsRepository(database, new AuditRepository(database)).list(LIMIT);
    const rows = videos.map((one) => [
      one.id,
      one.provider,
      one.upstreamModel,
      one.createdAt.toISOString(),
      one.endsAt.toISOString(),
      one.priceUsd,
      one.workspaceId,
    ]);
    const data = videos.map((one) => ({
      id: one.id,
      organization_id: one.organizationId,
      workspace_id: one.workspaceId,
      model: one.model,
      provider: one.provider,
      upstream_model: one.upstreamModel,
      price_usd: one.priceUsd,
      created_at: one.createdAt.toISOString(),
      ends_at: one.endsAt.toISOString(),
    }));
    const headings = ['ID', 'PROVIDER', 'UPSTREAM MODEL', 'CREATED', 'FAILS AT', 'PRICE USD', 'WORKSPACE'];
    return { data, text: table(headings, rows) };
  },
};
