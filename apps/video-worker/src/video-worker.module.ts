import { Module, type OnModuleInit } from '@nestjs/common';
import { Readiness, tcpCheck } from '@libs/platform';
import { VideoWorkerEnv } from './video-worker.env';

@Module({})
export class VideoWorkerModule implements OnModuleInit {
  constructor(
    private readonly env: VideoWorkerEnv,
    private readonly readiness: Readiness,
  ) {}

  onModuleInit(): void {
    this.readiness.addCheck('postgresql', tcpCheck(this.env.DATABASE_URL));
    this.readiness.addCheck('rabbitmq', tcpCheck(this.env.AMQP_URL));
  }
}
