import type { Channel, ConsumeMessage } from 'amqplib';
import { IsString } from 'class-validator';
import { job, type QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Delivery } from './delivery';
import { JobReceiver } from './job-receiver';
import { captureLog } from '../testing/captured-log';

class RunBatch {
  @IsString()
  batchId: string;
}

const queue: QueueSpec = { name: 'runs', kind: 'job', owner: 'batch-worker', prefetch: 1 };
const contract = job({ queue, name: 'runs.run', payload: RunBatch });

describe(JobReceiver.name, () => {
  let said: string[];
  let logged: string[];

  beforeEach(() => {
    said = [];
    logged = captureLog('error');
  });

  function receiver(run: () => Promise<unknown>): JobReceiver {
    return new JobReceiver(queue, new Map([[contract.name, contract]]), run);
  }

  function delivery(data: unknown = { batchId: 'b1' }): Delivery {
    const channel = {
      ack: () => said.push('ack'),
      nack: (_message: unknown, _upTo: boolean, requeue: boolean) => said.push(requeue ? 'requeue' : 'reject'),
    } as unknown as Channel;
    const content = Buffer.from(JSON.stringify({ pattern: contract.name, data }));
    return new Delivery(channel, { content, properties: {} } as unknown as ConsumeMessage);
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

  it('acknowledges a job whose handler threw, which the sweeper repeats, and logs it', async () => {
    await receiver(failing).receive(delivery());
    expect(said).toEqual(['ack']);
    expect(logged.join()).toContain('runs.run failed: provider_overloaded');
  });

  it('says nothing more about a job that went back to the broker while its handler ran', async () => {
    const given = delivery();
    given.requeue();
    await receiver(failing).receive(given);
    expect(said).toEqual(['requeue']);
  });

  it('never reads a message that is larger than a job may be', async () => {
    let runs = 0;
    await receiver(async () => (runs += 1)).receive(delivery({ batchId: 'b1', padding: 'a'.repeat(4_096) }));
    expect(runs).toBe(0);
    expect(said).toEqual(['reject']);
  });

  it('never runs a job that breaks its validation, and logs the member and not the value', async () => {
    let runs = 0;
    await receiver(async () => (runs += 1)).receive(delivery({ batchId: { secret: 'hunter2' } }));
    expect(runs).toBe(0);
    expect(said).toEqual(['reject']);
    expect(logged.join()).toContain('batchId');
    expect(logged.join()).not.toContain('hunter2');
  });
});
