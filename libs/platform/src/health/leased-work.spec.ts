import { LeasedWork } from './leased-work';

describe(LeasedWork.name, () => {
  let looks: number;
  let endLook: () => void;
  let ended: string[];
  let ends: Map<string, () => void>;
  let work: LeasedWork<string>;

  beforeEach(() => {
    looks = 0;
    ended = [];
    ends = new Map();
    work = new LeasedWork<string>({
      run: (item) => new Promise<void>((resolve) => ends.set(item, resolve)),
      onEnd: (item) => ended.push(item),
      look: () => {
        looks += 1;
        return new Promise<void>((resolve) => (endLook = resolve));
      },
    });
  });

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('looks once more when it was woken during a look, however often', async () => {
    for (let wakes = 0; wakes < 3; wakes += 1) work.wake();
    expect(looks).toBe(1);
    endLook();
    await turn();
    expect(looks).toBe(2);
    endLook();
    await turn();
    expect(looks).toBe(2);
  });

  it('holds an item until its run has ended', async () => {
    work.begin('a');
    work.begin('b');
    ends.get('a')!();
    await turn();
    expect(work.held).toEqual(['b']);
    expect(ended).toEqual(['a']);
  });

  it('waits for the look and the runs under way when it drains, and looks no more', async () => {
    work.wake();
    let isDrained = false;
    const drained = work.drain(60_000, () => undefined).then(() => (isDrained = true));
    work.wake();
    work.begin('claimed by the last look');
    endLook();
    await turn();
    expect([looks, isDrained]).toEqual([1, false]);
    ends.get('claimed by the last look')!();
    await drained;
    expect(work.held).toEqual([]);
  });

  it('cuts off what takes longer than the grace', async () => {
    work.begin('slow');
    await work.drain(1, () => ends.get('slow')!());
    expect(ended).toEqual(['slow']);
  });
});
