import { randomUUID } from 'node:crypto';
import type { JobContract } from '@libs/contracts';
import type { ConfirmingPublisher } from './confirming-publisher';
import { encodeJob } from './message-codec';

/** Hands over jobs. */
export interface JobSender {
  /** @throws AppError `unavailable` unless the broker has confirmed the job */
  send<P extends object>(contract: JobContract<P>, payload: P, messageId?: string): Promise<void>;
}

export function jobSender(publisher: Pick<ConfirmingPublisher, 'publish'>): JobSender {
  return {
    send: async (contract, payload, messageId = randomUUID()) =>
      publisher.publish({
        queue: contract.queue,
        content: encodeJob(contract, payload),
        messageId,
      }),
  };
}
