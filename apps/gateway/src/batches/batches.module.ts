import { Module } from '@nestjs/common';
import { BatchIntakeService } from './batch-intake.service';
import { BatchLimitsService } from './batch-limits.service';
import { BatchQuotesService } from './batch-quotes.service';
import { BatchRemovalService } from './batch-removal.service';
import { BatchRetryService } from './batch-retry.service';
import { BatchesController } from './batches.controller';
import { BatchesService } from './batches.service';
import { LimitsModule } from '../limits/limits.module';
import { RelayModule } from '../relay.module';
import { RoutingModule } from '../routing/routing.module';
import { SubmissionsModule } from '../submissions/submissions.module';
import { WebhooksModule } from '../webhooks/webhooks.module';

@Module({
  imports: [LimitsModule, RelayModule, RoutingModule, SubmissionsModule, WebhooksModule],
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
