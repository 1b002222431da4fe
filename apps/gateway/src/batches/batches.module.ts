import { Module } from '@nestjs/common';
import { BatchIntakeService } from './batch-intake.service';
import { BatchLimitsService } from './batch-limits.service';
import { BatchQuotesService } from './batch-quotes.service';
import { BatchRemovalService } from './batch-removal.service';
import { BatchRetryService } from './batch-retry.service';
import { BatchesController } from './batches.controller';
import { BatchesService } from './batches.service';
import { RoutingModule } from '../routing/routing.module';

/** What it needs is global: persistence, the outbox relay, rate limits, and what this installation can route to. */
@Module({
  imports: [RoutingModule],
  controllers: [BatchesController],
  providers: [
    BatchesService,
    BatchIntakeService,
    BatchLimitsService,
    BatchQuotesService,
    BatchRemovalService,
    BatchRetryService,
  ],
})
export class BatchesModule {}
