import type { Secret } from '@libs/contracts';
import { Int, loadEnv, ProviderCallerEnv, PublicUrl, SecretUrl, Text } from '@libs/platform';
import { IsOptional } from 'class-validator';

export class VideoWorkerEnv extends ProviderCallerEnv {
  override HEALTH_PORT: number = 8_083;

  /** How clients reach the gateway: the links in webhooks begin with it. */
  @PublicUrl(['http', 'https'])
  PUBLIC_URL: string = 'http://127.0.0.1:8080';

  /** Jobs that this process submits, asks after or fetches at once. */
  @Int({ min: 1, max: 1_000 })
  VIDEO_CONCURRENCY: number = 32;

  /** Seconds for which a job waits for an operator if it is unknown whether its provider took it. */
  @Int({ min: 1, max: 604_800 })
  VIDEO_REVIEW_SECONDS: number = 3_600;

  /** Hours for which finished videos are kept. */
  @Int({ min: 1, max: 8_760 })
  VIDEO_RETENTION_HOURS: number = 168;

  /** Days after which webhooks that were delivered or given up are deleted. */
  @Int({ min: 1, max: 3_650 })
  WEBHOOK_RETENTION_DAYS: number = 30;

  /** The folder of finished videos, which the gateway reads. */
  @Text({ expected: 'a path to a folder' })
  BLOB_DIR: string = '.sluice/blobs';

  /** A bucket to use instead of the folder: `https://KEY:SECRET@host/bucket/prefix?region=…`. */
  @IsOptional()
  @SecretUrl(['https', 'http'])
  BLOB_S3_URL?: Secret;
}

/** @throws EnvError */
export function readVideoWorkerEnv(source: NodeJS.ProcessEnv = process.env): VideoWorkerEnv {
  return loadEnv(VideoWorkerEnv, source);
}

/** Returns the operator's provider keys from the environment variables that the catalogue names. */
export function providerKeyVariables(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return source;
}
