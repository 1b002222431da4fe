import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns the bytes of V8's heap and of buffers that are in use. */
export function bytesInUse(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

let collectGarbage: (() => void) | undefined;

function collect(): void {
  collectGarbage ??= garbageCollector();
  collectGarbage();
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Returns how many bytes of V8's heap the value takes that `build` returns. */
export function heapTakenBy(build: () => unknown): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  const built = build();
  collect();
  const after = process.memoryUsage().heapUsed;
  return built === undefined ? 0 : after - before;
}
