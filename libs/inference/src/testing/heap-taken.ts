import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns how many bytes of V8's heap the value takes that `build` returns. */
export function heapTakenBy(build: () => unknown): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const built = build();
  collect();
  const after = process.memoryUsage().heapUsed;
  return built === undefined ? 0 : after - before;
}
