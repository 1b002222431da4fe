import { Module } from '@nestjs/common';
import { BatchIntakeService } from './batch-intake.service';
import { BatchLimitsService } from './batch-limits.service';
import { BatchQuotesService } from './batch-quotes.service';
import { BatchRemovalService } from './batch-removal.service';
import { BatchRetryService } from './batch-retry.service';
import { BatchesController } from './batches.controller';
import { BatchesService } from './batches.service';
import { LimitsModule } from '../limits/limits.module';
import { RoutingModule } from '../routing/routing.module';
import { WebhooksModule } from '../webhooks/webhooks.module';

@Module({
  imports: [LimitsModule, RoutingModule, WebhooksModule],
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
