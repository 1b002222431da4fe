import { Module, type OnModuleInit } from '@nestjs/common';
import { Readiness, tcpCheck } from '@libs/platform';
import { CredentialsEnv } from './credentials.env';

@Module({})
export class CredentialsModule implements OnModuleInit {
  constructor(
    private readonly env: CredentialsEnv,
    private readonly readiness: Readiness,
  ) {}

  onModuleInit(): void {
    this.readiness.addCheck('postgresql', tcpCheck(this.env.DATABASE_URL));
    this.readiness.addCheck('rabbitmq', tcpCheck(this.env.AMQP_URL));
  }
}
