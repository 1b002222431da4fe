import { Logger } from '@nestjs/common';
import {
  CallerCredentials,
  CatalogueSource,
  createProviderAdapters,
  PROTOCOLS,
  InferenceEngine,
  NativeBatchCaller,
  parsePercent,
  ProviderHealth,
  ReplyBudget,
  SharedCredentials,
  UpstreamHttp,
  type CallerParts,
  type CredentialVault,
  monotonicMs,
} from '@libs/inference';
import { Egress, noteOwnFault, noteUpstreamAttempt } from '@libs/platform';
import type { BatchWorkerEnv } from './batch-worker.env';

export interface Inference {
  /** `vault` stores the callers' own keys. */
  engineWith(vault: CredentialVault): InferenceEngine;
  nativeWith(vault: CredentialVault): NativeBatchCaller;
  readonly catalogue: CatalogueSource;
  /** The operator's keys. */
  readonly shared: SharedCredentials;
  /** Limits the answers in memory. */
  readonly replies: ReplyBudget;
  close(): Promise<void>;
}

/**
 * Most bytes of all answers that a worker is reading or has yet to store. Each may have 64 MiB, and there are as many
 * as running calls.
 */
const MOST_REPLY_BYTES = 256 * 1024 * 1024;

/** Creates the engine with the operator's catalogue and keys; it follows changes of the catalogue. */
export async function createInference(
  env: Pick<BatchWorkerEnv, 'CATALOG_PATH' | 'BYOK_FEE_PERCENT' | 'EGRESS_ALLOW_CIDRS'>,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Inference> {
  const logger = new Logger('Catalogue');
  const engineLogger = new Logger(InferenceEngine.name);
  const catalogue = new CatalogueSource(env.CATALOG_PATH, {
    protocols: PROTOCOLS,
    onProblem: (problem) => logger.error(`a changed catalogue was not taken: ${describe(problem)}`),
  });
  await catalogue.start();
  catalogue.onChange(() => logger.log('The changed catalogue is in use'));
  const shared = new SharedCredentials(variables);
  const egress = new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] });
  const replies = new ReplyBudget(MOST_REPLY_BYTES);
  const http = new UpstreamHttp({ replies, connectOwnPlace: egress.connector() });
  const adapters = createProviderAdapters(http);
  const partsWith = (vault: CredentialVault): CallerParts => ({
    adapters,
    credentials: new CallerCredentials(shared, vault),
    clock: monotonicMs,
    byokFee: parsePercent(env.BYOK_FEE_PERCENT),
  });
  const engineWith = (vault: CredentialVault): InferenceEngine =>
    new InferenceEngine({
      ...partsWith(vault),
      catalogue: () => catalogue.current(),
      health: new ProviderHealth(monotonicMs),
      dice: Math.random,
      onOwnFault: (error, { endpoint }) => noteOwnFault(error, endpoint.provider.slug, engineLogger),
      onAttempt: ({ endpoint, model }, outcome, error) =>
        noteUpstreamAttempt({ provider: endpoint.provider.slug, model: model.slug, outcome }, error, engineLogger),
      gathersAnswers: true,
    });
  return {
    engineWith,
    nativeWith: (vault) => new NativeBatchCaller(partsWith(vault)),
    catalogue,
    shared,
    replies,
    close: async () => {
      await catalogue.close();
      await http.close();
    },
  };
}

function describe(problem: unknown): string {
  return problem instanceof Error ? problem.message : 'unknown problem';
}
