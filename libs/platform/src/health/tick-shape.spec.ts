import { executionAsyncResource } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { collectGarbage } from './collect-garbage';
import { keepTickShape, keptTicks } from './tick-shape';

describe(keepTickShape.name, () => {
  it('keeps an object with the shape of all later ticks, also after collections', async () => {
    keepTickShape();
    await turn();
    const [tick] = keptTicks();
    for (let times = 0; times < 5; times += 1) {
      collectGarbage();
      await turn();
    }
    const later = await new Promise<object>((resolve) => process.nextTick(() => resolve(executionAsyncResource())));
    expect(later).not.toBe(tick);
    expect(Reflect.ownKeys(tick!)).toContain('callback');
    expect(haveSameShape(tick!, later)).toBe(true);
  });
});

function haveSameShape(one: object, other: object): boolean {
  setFlagsFromString('--allow-natives-syntax');
  try {
    return (runInThisContext('(one, other) => %HaveSameMap(one, other)') as typeof haveSameShape)(one, other);
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}
