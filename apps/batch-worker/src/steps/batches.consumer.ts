import { Controller } from '@nestjs/common';
import { AdvanceBatch, type AdvanceBatchPayload } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import { Handles } from '@libs/platform';
import { BatchRunnerService } from './batch-runner.service';

@Controller()
export class BatchesConsumer {
  constructor(private readonly runner: BatchRunnerService) {}

  @Handles(AdvanceBatch)
  advance({ batchId, workspaceId }: AdvanceBatchPayload): Promise<void> {
    failpoint('batch-nudged');
    return this.runner.advance(batchId, workspaceId);
  }
}
