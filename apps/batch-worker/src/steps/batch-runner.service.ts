import { Injectable, Logger } from '@nestjs/common';
import { BatchesRepository } from '@libs/persistence';
import { NativeRemovalService } from '../native/native-removal.service';
import { BatchStopperService } from '../batches/batch-stopper.service';
import { BatchValidationService } from './batch-validation.service';
import { FinalizerService } from '../batches/finalizer.service';
import { ManagedLaneService } from '../batches/managed-lane.service';

/** Runs the next due step of a batch, according to its row, never to the message. */
@Injectable()
export class BatchRunnerService {
  private readonly logger = new Logger(BatchRunnerService.name);

  constructor(
    private readonly batches: BatchesRepository,
    private readonly validation: BatchValidationService,
    private readonly lane: ManagedLaneService,
    private readonly finalizer: FinalizerService,
    private readonly stopper: BatchStopperService,
    private readonly removal: NativeRemovalService,
  ) {}

  /**
   * Safe to repeat and to run in several workers at once: each step is claimed or guarded by the row.
   * @param workspaceId the expected workspace of the batch, if the message names one
   */
  async advance(batchId: string, workspaceId?: string): Promise<void> {
    if (workspaceId !== undefined && !(await this.batches.isOfWorkspace(batchId, workspaceId))) {
      this.logger.warn(`a message names batch ${batchId} and a workspace that has none of that id`);
      return;
    }
    await this.validation.validateIfDue(batchId);
    this.lane.wake();
    const step = await this.batches.findStep(batchId);
    if (step === null) return this.removal.removeIfRequested(batchId);
    const { number, endsAs } = step;
    if (endsAs !== null) await this.stopper.windUp({ id: batchId, number, endsAs });
    else if (step.status === 'in_progress') await this.finalizer.finishIfDone(number);
    else if (step.status === 'finalizing') await this.finalizer.complete(batchId);
  }

  wakeLane(): void {
    this.lane.wake();
  }
}
