import { call, job, type QueueSpec } from '@libs/contracts';
import { findHandlerProblems } from './boot-check';

class Message {}

describe(findHandlerProblems.name, () => {
  const sums: QueueSpec = { name: 'sums', kind: 'call', owner: 'auth', prefetch: 1 };
  const runs: QueueSpec = { name: 'runs', kind: 'job', owner: 'batch-worker', prefetch: 1 };
  const add = call({
    queue: sums,
    name: 'sums.add',
    timeoutMs: 1,
    askedBy: ['gateway'],
    repeat: 'harmless',
    request: Message,
    response: Message,
  });
  const run = job({ queue: runs, name: 'runs.run', payload: Message });

  it('finds nothing when each contract of the consumed queues has one handler', () => {
    expect(findHandlerProblems([sums], [add, run], [{ contract: add, where: 'A.add' }])).toEqual([]);
  });

  it('names a contract without a handler', () => {
    expect(findHandlerProblems([sums, runs], [add, run], [{ contract: add, where: 'A.add' }])).toEqual([
      'contract runs.run has no handler',
    ]);
  });

  it('names all handlers of a contract that has two', () => {
    const handlers = [
      { contract: add, where: 'A.add' },
      { contract: add, where: 'B.add' },
    ];
    expect(findHandlerProblems([sums], [add], handlers)).toEqual(['contract sums.add has 2 handlers: A.add, B.add']);
  });

  it('names a handler of a queue that is not consumed, of an unlisted contract, and of no contract', () => {
    const unlisted = { ...add, name: 'sums.subtract' };
    const handlers = [
      { contract: add, where: 'A.add' },
      { contract: run, where: 'A.run' },
      { contract: unlisted, where: 'A.subtract' },
      { contract: undefined, where: 'A.raw' },
    ];
    expect(findHandlerProblems([sums], [add, run], handlers)).toEqual([
      'handler A.run is for runs.run of queue runs, which is not consumed here',
      'handler A.subtract is for sums.subtract, which is not in the list of contracts',
      'handler A.raw was not declared with @Handles',
    ]);
  });

  it('names a contract that is listed twice', () => {
    expect(findHandlerProblems([], [add, { ...add }], [])).toEqual(['contract sums.add is listed twice']);
  });
});
