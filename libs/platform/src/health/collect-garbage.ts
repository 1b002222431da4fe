import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects all garbage of the process. It blocks for 50 to 80 ms.
 *
 * The start of an app leaves 25 to 35 MiB that V8 would not collect before the heap has grown further, which in an idle
 * app is never.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}
