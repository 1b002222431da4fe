import { CidrList, Int, loadEnv, ServicesEnv } from '@libs/platform';
import { IsOptional } from 'class-validator';

export class VideoWorkerEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_083;

  /** Private ranges that URLs of users may reach. */
  @IsOptional()
  @CidrList()
  EGRESS_ALLOW_CIDRS?: string[];

  /** Days after which webhooks that were delivered or given up are deleted. */
  @Int({ min: 1, max: 3_650 })
  WEBHOOK_RETENTION_DAYS: number = 30;
}

/** @throws EnvError */
export function readVideoWorkerEnv(source: NodeJS.ProcessEnv = process.env): VideoWorkerEnv {
  return loadEnv(VideoWorkerEnv, source);
}
