import { setImmediate as turn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { collectGarbage } from './collect-garbage';

describe(collectGarbage.name, () => {
  it('collects at once what nothing refers to, and leaves no function for it to others', async () => {
    const gone = new WeakRef({ of: 'the start' });
    const kept = { of: 'the app' };
    const reference = new WeakRef(kept);
    // A reference that was just made keeps its object until the turn is over.
    await turn();
    collectGarbage();
    expect([gone.deref(), reference.deref()]).toEqual([undefined, kept]);
    expect(runInNewContext('typeof gc')).toBe('undefined');
  });
});
