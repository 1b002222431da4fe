import { Logger } from '@nestjs/common';
import {
  CatalogueSource,
  createProviderAdapters,
  PROTOCOLS,
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
  const egress = new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] });
  const http = new UpstreamHttp({ connectOwnPlace: egress.connector() });
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
