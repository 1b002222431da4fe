import { Int, loadEnv, ServicesEnv, Text } from '@libs/platform';

export class BatchWorkerEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_082;

  /** Requests in flight in this process. */
  @Int({ min: 1, max: 10_000 })
  BATCH_CONCURRENCY: number = 64;

  /** Charged for calls on callers' own keys, in per cent of the list price. */
  @Text({ expected: 'a number of per cent such as 5 or 2.5', pattern: /^(?:100(?:\.0{1,4})?|[1-9]?\d(?:\.\d{1,4})?)$/ })
  BYOK_FEE_PERCENT: string = '5';

  /** By list price and calendar month: what each organization runs on its own keys without that fee. */
  @Text({ expected: 'an amount in US dollars such as 25 or 0.5', pattern: /^(?:0|[1-9]\d{0,11})(?:\.\d{1,12})?$/ })
  BYOK_FREE_USD_PER_MONTH: string = '0';

  /** A YAML file or a folder of them. */
  @Text({ expected: 'a path to a file or folder' })
  CATALOG_PATH: string = 'catalog/';
}

/** @throws EnvError */
export function readBatchWorkerEnv(source: NodeJS.ProcessEnv = process.env): BatchWorkerEnv {
  return loadEnv(BatchWorkerEnv, source);
}

/** The operator's provider keys: the catalogue says which variables they are in. */
export function providerKeyVariables(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return source;
}
