import { Logger } from '@nestjs/common';
import {
  CatalogueSource,
  createProviderAdapters,
  InferenceEngine,
  ProviderHealth,
  SharedCredentials,
  UpstreamHttp,
} from '@libs/inference';

export interface Inference {
  readonly engine: InferenceEngine;
  readonly catalogue: CatalogueSource;
  close(): Promise<void>;
}

/** The engine over the operator's catalogue and keys; the catalogue is followed through its changes. */
export async function createInference(
  cataloguePath: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Inference> {
  const logger = new Logger('Catalogue');
  const catalogue = new CatalogueSource(cataloguePath, {
    onProblem: (problem) => logger.error(`a changed catalogue was not taken: ${describe(problem)}`),
  });
  await catalogue.start();
  const http = new UpstreamHttp();
  const engine = new InferenceEngine({
    catalogue: () => catalogue.current(),
    adapters: createProviderAdapters(http),
    credentials: new SharedCredentials(variables),
    health: new ProviderHealth(Date.now),
    clock: Date.now,
    dice: Math.random,
  });
  return {
    engine,
    catalogue,
    close: async () => {
      await catalogue.close();
      await http.close();
    },
  };
}

function describe(problem: unknown): string {
  return problem instanceof Error ? problem.message : 'unknown problem';
}
