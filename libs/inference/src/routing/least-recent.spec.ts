import fc from 'fast-check';
import { LeastRecent } from './least-recent';

const uses = fc.array(fc.integer({ min: 0, max: 20 }).map(String), { maxLength: 200 });

describe(LeastRecent.name, () => {
  it('never holds more than it may', () => {
    fc.assert(
      fc.property(uses, (keys) => {
        const entries = new LeastRecent<string>(8);
        for (const key of keys) {
          entries.use(key, () => key);
          expect(entries.size).toBeLessThanOrEqual(8);
        }
      }),
    );
  });

  it('always holds the half that was used last', () => {
    fc.assert(
      fc.property(uses, (keys) => {
        const entries = new LeastRecent<string>(8);
        for (const key of keys) entries.use(key, () => key);
        const last = [...new Set(keys.toReversed())].slice(0, 4);
        expect(last.map((key) => entries.peek(key))).toEqual(last);
      }),
    );
  });

  it('forgets what is deleted, however long ago it was used', () => {
    const entries = new LeastRecent<number>(4);
    for (const key of ['a', 'b', 'c']) entries.set(key, 1);
    entries.delete('a');
    expect([entries.peek('a'), entries.peek('b'), entries.size]).toEqual([undefined, 1, 2]);
  });
});
