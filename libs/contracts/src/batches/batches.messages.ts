import { IsOptional, IsString, IsUUID, Length } from 'class-validator';
import { job } from '../messages/contract';
import { JobPayload } from '../messages/job-payload';
import { queues } from '../messages/queues';

export class AdvanceBatchPayload extends JobPayload {
  @IsString()
  @Length(1, 100)
  batchId: string;

  /** The batch's workspace, as the sender knows it. A message whose value differs from the row has no effect. */
  @IsOptional()
  @IsUUID()
  workspaceId?: string;
}

/** Look at the batch's row and take its next step: validate it, run its lines, finalize it. */
export const AdvanceBatch = job({ queue: queues.batches, name: 'batches.advance-batch', payload: AdvanceBatchPayload });
