import { Logger } from '@nestjs/common';
import {
  CatalogueSource,
  createProviderAdapters,
  PROTOCOLS,
  ReplyBudget,
  SharedCredentials,
  UpstreamHttp,
  type ProviderAdapter,
} from '@libs/inference';
import { Egress } from '@libs/platform';
import type { VideoWorkerEnv } from './video-worker.env';

/** The operator's catalogue, kept up to date, with the adapters and shared keys for videos. */
export interface VideoProviders {
  readonly catalogue: CatalogueSource;
  readonly adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly shared: SharedCredentials;
  close(): Promise<void>;
}

/** Most bytes of all answers that a worker is reading. An answer may contain a video, so each may have 64 MiB. */
const MOST_REPLY_BYTES = 128 * 1024 * 1024;

export async function createVideoProviders(
  env: Pick<VideoWorkerEnv, 'CATALOG_PATH' | 'EGRESS_ALLOW_CIDRS'>,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<VideoProviders> {
  const logger = new Logger('Catalogue');
  const catalogue = new CatalogueSource(env.CATALOG_PATH, {
    protocols: PROTOCOLS,
    onProblem: (problem) => logger.error('A changed catalogue was not taken; the earlier one stays', problem),
  });
  await catalogue.start();
  catalogue.onChange(() => logger.log('The changed catalogue is in use'));
  const egress = new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] });
  const http = new UpstreamHttp({
    replies: new ReplyBudget(MOST_REPLY_BYTES),
    connectOwnPlace: egress.connector(),
  });
  return {
    catalogue,
    adapters: createProviderAdapters(http),
    shared: new SharedCredentials(variables),
    close: async () => {
      await catalogue.close();
      await http.close();
    },
  };
}
