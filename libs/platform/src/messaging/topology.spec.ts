import { queues } from '@libs/contracts';
import { queueDeclarations } from './topology';

describe(queueDeclarations.name, () => {
  it('declares a call queue as one durable classic queue that never goes away by itself', () => {
    const [declaration, ...more] = queueDeclarations(queues.auth);
    expect(more).toEqual([]);
    expect(declaration).toMatchObject({
      name: 'auth',
      exchange: 'auth.calls',
      durable: true,
      arguments: { 'x-queue-type': 'classic' },
    });
    expect(declaration?.arguments).not.toHaveProperty('x-expires');
  });

  it('declares a job queue with its dead queue', () => {
    expect(queueDeclarations(queues.batches).map(({ name }) => name)).toEqual(['batch-jobs.dead', 'batch-jobs']);
  });

  it('replicates every queue of a job and bounds its length', () => {
    for (const declaration of queueDeclarations(queues.batches)) {
      expect(declaration.durable).toBe(true);
      expect(declaration.arguments).toMatchObject({ 'x-queue-type': 'quorum', 'x-max-length': expect.any(Number) });
    }
  });

  it('puts a job aside after the delivery limit of its queue, and loses none on the way', () => {
    const declaration = queueDeclarations(queues.batches).find(({ name }) => name === 'batch-jobs');
    expect(declaration?.arguments).toMatchObject({
      'x-delivery-limit': 5,
      'x-dead-letter-exchange': 'batch-jobs',
      'x-dead-letter-routing-key': 'batch-jobs.dead',
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    });
  });
});
