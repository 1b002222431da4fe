import { Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { SingleRunner } from '@libs/persistence';
import { IdempotencyKeysRepository } from './idempotency-keys.repository';
import { IdempotencyPurge } from './idempotency-purge';
import { IdempotencyService } from './idempotency.service';

/** Providers that `@Idempotent` needs. Each module whose controllers use it must import this one. */
@Module({
  providers: [
    IdempotencyKeysRepository,
    IdempotencyService,
    {
      provide: IdempotencyPurge,
      inject: [IdempotencyKeysRepository, SingleRunner],
      useFactory: (keys: IdempotencyKeysRepository, runner: SingleRunner) => new IdempotencyPurge(keys, runner),
    },
  ],
  exports: [IdempotencyService],
})
export class IdempotencyModule implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly purge: IdempotencyPurge) {}

  onModuleInit(): void {
    this.purge.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.purge.stop();
  }
}
