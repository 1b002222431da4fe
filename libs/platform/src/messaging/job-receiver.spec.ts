import type { Channel, ConsumeMessage } from 'amqplib';
import { IsString } from 'class-validator';
import { job, type QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { OutgoingMessage } from './confirming-publisher';
import { Delivery } from './delivery';
import { ATTEMPT_HEADER, ERROR_CODE_HEADER, JobReceiver } from './job-receiver';
import { captureLog } from '../testing/captured-log';

class RunBatch {
  @IsString()
  batchId: string;
}

const queue: QueueSpec = { name: 'runs', kind: 'job', owner: 'batch-worker', prefetch: 1, retryTiersMs: [10, 20] };
const contract = job({ queue, name: 'runs.run', payload: RunBatch });

describe(JobReceiver.name, () => {
  let said: string[];
  let published: OutgoingMessage[];
  let refusal: Error | undefined;
  let logged: string[];

  beforeEach(() => {
    said = [];
    published = [];
    refusal = undefined;
    logged = captureLog('error');
  });

  function receiver(run: () => Promise<unknown>): JobReceiver {
    const publisher = {
      publish: async (message: OutgoingMessage) => {
        said.push('publish');
        if (refusal) throw refusal;
        published.push(message);
      },
    };
    // Draining already, so that a job goes back without the wait that spares its redeliveries.
    return new JobReceiver(queue, new Map([[contract.name, contract]]), run, publisher, AbortSignal.abort());
  }

  function delivery(headers: Record<string, unknown> = {}, data: unknown = { batchId: 'b1' }): Delivery {
    const channel = { ack: () => said.push('ack'), nack: () => said.push('nack') } as unknown as Channel;
    const content = Buffer.from(JSON.stringify({ pattern: contract.name, data }));
    return new Delivery(channel, { content, properties: { messageId: 'm1', headers } } as unknown as ConsumeMessage);
  }

  const failing = async (): Promise<never> => {
    throw new AppError('provider_overloaded', 'busy');
  };

  it('acknowledges a job only after its handler has finished', async () => {
    const work = Promise.withResolvers<void>();
    const received = receiver(() => work.promise).receive(delivery());
    expect(said).toEqual([]);
    work.resolve();
    await received;
    expect(said).toEqual(['ack']);
  });

  it('acknowledges a failed job only after its retry tier has confirmed it', async () => {
    await receiver(failing).receive(delivery());
    expect(said).toEqual(['publish', 'ack']);
    expect(published[0]).toMatchObject({
      routingKey: 'runs.retry.10',
      messageId: 'm1',
      headers: { [ATTEMPT_HEADER]: 1 },
    });
  });

  it('goes on to the next tier, and after the last to the dead queue with the code of the error', async () => {
    await receiver(failing).receive(delivery({ [ATTEMPT_HEADER]: 1 }));
    await receiver(failing).receive(delivery({ [ATTEMPT_HEADER]: 2 }));
    expect(published.map(({ routingKey }) => routingKey)).toEqual(['runs.retry.20', 'runs.dead']);
    expect(published[1]?.headers).toEqual({ [ATTEMPT_HEADER]: 3, [ERROR_CODE_HEADER]: 'provider_overloaded' });
  });

  it('gives a failed job back to the broker when no tier takes it', async () => {
    refusal = new Error('not confirmed');
    await receiver(failing).receive(delivery());
    expect(said).toEqual(['publish', 'nack']);
  });

  it('sends no copy of a job that went back to the broker while its handler ran', async () => {
    const given = delivery();
    given.requeue();
    await receiver(failing).receive(given);
    expect(said).toEqual(['nack']);
  });

  it.each([-1, 1.5, '1', null, 1e300])('takes the attempt header %p for none', async (attempt) => {
    await receiver(failing).receive(delivery({ [ATTEMPT_HEADER]: attempt }));
    expect(published[0]?.routingKey).toBe('runs.retry.10');
  });

  it('never runs a job that breaks its validation, and logs the member and not the value', async () => {
    let runs = 0;
    await receiver(async () => (runs += 1)).receive(delivery({}, { batchId: { secret: 'hunter2' } }));
    expect(runs).toBe(0);
    expect(published[0]).toMatchObject({
      routingKey: 'runs.dead',
      headers: { [ERROR_CODE_HEADER]: 'invalid_request' },
    });
    expect(logged.join()).toContain('batchId');
    expect(logged.join()).not.toContain('hunter2');
  });
});
