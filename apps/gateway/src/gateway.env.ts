import { Int, loadEnv, Port, PublicUrl, ServicesEnv, Text } from '@libs/platform';
import { IsOptional } from 'class-validator';

export class GatewayEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_081;

  /** The public port. */
  @Port()
  PORT: number = 8_080;

  /** How clients reach us; from the port when absent. */
  @IsOptional()
  @PublicUrl(['http', 'https'])
  PUBLIC_URL?: string;

  /** A YAML file or a folder of them. */
  @Text({ expected: 'a path to a file or folder' })
  CATALOG_PATH: string = 'catalog/';

  /** Requests this process works on at once; more are refused as overload. */
  @Int({ min: 1, max: 100_000 })
  MAX_REQUESTS_IN_FLIGHT: number = 4_096;

  /** Batch submissions per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  BATCH_SUBMISSIONS_PER_MINUTE: number = 60;

  /** Reads of batches per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  BATCH_READS_PER_MINUTE: number = 1_200;

  /** How many gateways share the limits: each grants its part while Redis is away. */
  @Int({ min: 1, max: 10_000 })
  GATEWAY_REPLICAS: number = 1;
}

/** @throws EnvError */
export function readGatewayEnv(source: NodeJS.ProcessEnv = process.env): GatewayEnv {
  return loadEnv(GatewayEnv, source);
}

/** The operator's provider keys: the catalogue says which variables they are in. */
export function providerKeyVariables(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return source;
}
