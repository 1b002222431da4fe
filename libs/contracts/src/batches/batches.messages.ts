import { IsString, Length } from 'class-validator';
import { job } from '../messages/contract';
import { queues } from '../messages/queues';

export class AdvanceBatchPayload {
  @IsString()
  @Length(1, 100)
  batchId: string;
}

/** Look at the batch's row and take its next step: validate it, run its lines, finalize it. */
export const AdvanceBatch = job({ queue: queues.batches, name: 'batches.advance-batch', payload: AdvanceBatchPayload });
