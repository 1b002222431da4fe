import { Module } from '@nestjs/common';
import { OutboxRepository } from '@libs/persistence';
import { OutboxModule } from '@libs/platform';

/** Sends the jobs that services of batches and videos store. */
@Module({ imports: [OutboxModule.forRoot({ source: OutboxRepository })], exports: [OutboxModule] })
export class RelayModule {}
