import { Int, loadEnv, ProviderCallerEnv } from '@libs/platform';

export class BatchWorkerEnv extends ProviderCallerEnv {
  override HEALTH_PORT: number = 8_082;

  /** Requests in flight in this process. */
  @Int({ min: 1, max: 10_000 })
  BATCH_CONCURRENCY: number = 64;

  /** Target time of a batch in minutes, from which the number of workers is derived. */
  @Int({ min: 1, max: 1_440 })
  BATCH_GOAL_MINUTES: number = 60;

  /** How long a batch waits for credit before its remaining lines end with `payment_required`. */
  @Int({ min: 0, max: 86_400 })
  BATCH_CREDIT_GRACE_SECONDS: number = 3_600;
}

/** @throws EnvError */
export function readBatchWorkerEnv(source: NodeJS.ProcessEnv = process.env): BatchWorkerEnv {
  return loadEnv(BatchWorkerEnv, source);
}

/** Returns the operator's provider keys from the environment variables that the catalogue names. */
export function providerKeyVariables(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return source;
}
