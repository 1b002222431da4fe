let waiting: (() => void)[] = [];

/**
 * Runs a task at the end of this turn of the event loop, together with the tasks of all other calls. Used for writes to
 * sockets: when they run in a row, the CPU caches stay warm, which saves a tenth of the cost of a call.
 *
 * A task must not throw, because its error would be lost.
 */
export function atTurnEnd(task: () => void): void {
  if (waiting.push(task) === 1) setImmediate(runAll);
}

let end: Promise<void> | null = null;

/**
 * Resolves at the end of this turn of the event loop. All waiting calls then do their next step in a row, without reads
 * from sockets in between.
 */
export function turnEnd(): Promise<void> {
  return (end ??= new Promise((resolve) => {
    atTurnEnd(() => {
      end = null;
      resolve();
    });
  }));
}

function runAll(): void {
  const tasks = waiting;
  waiting = [];
  for (const task of tasks) task();
}
