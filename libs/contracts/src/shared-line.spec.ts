import { SharedLine } from './shared-line';
import { SharedPool } from './shared-pool';

describe(SharedLine.name, () => {
  let entered: string[];

  beforeEach(() => {
    entered = [];
  });

  function wait(line: SharedLine, holder: string, amount = 1): (() => void) | null {
    return line.wait([holder], amount, () => entered.push(holder));
  }

  function lineOf(size: number, weights: readonly number[], places = 10): SharedLine {
    return new SharedLine(new SharedPool(size, weights), new SharedPool(places, weights));
  }

  it('lets those in that wait in their order, as far as there is room', () => {
    const line = lineOf(2, []);
    line.pool.take(['a'], 2);
    for (const holder of ['b', 'c', 'd']) wait(line, holder);
    line.give(['a'], 2);
    expect(entered).toEqual(['b', 'c']);
    expect(line.waiting).toBe(1);
  });

  it('lets others pass those that hold their share', () => {
    const line = lineOf(5, [4]);
    line.pool.take(['a'], 4);
    line.pool.take(['b']);
    wait(line, 'a');
    wait(line, 'c');
    line.give(['b'], 1);
    expect(entered).toEqual(['c']);
  });

  it('lets a small amount pass a large one that has no room', () => {
    const line = lineOf(4, []);
    line.pool.take(['a'], 4);
    wait(line, 'b', 3);
    wait(line, 'c', 1);
    line.give(['a'], 1);
    expect(entered).toEqual(['c']);
  });

  it('has a bound, and gives the place back of one that leaves', () => {
    const line = lineOf(1, [], 1);
    line.pool.take(['a']);
    const leave = wait(line, 'b');
    expect(wait(line, 'c')).toBeNull();
    leave!();
    leave!();
    expect(wait(line, 'c')).not.toBeNull();
    line.give(['a'], 1);
    expect(entered).toEqual(['c']);
  });

  it('takes in what is given back by one that enters', () => {
    const line = lineOf(1, []);
    line.pool.take(['a']);
    line.wait(['b'], 1, () => line.give(['b'], 1));
    wait(line, 'c');
    line.give(['a'], 1);
    expect(entered).toEqual(['c']);
    expect(line.pool.taken).toBe(1);
  });
});
