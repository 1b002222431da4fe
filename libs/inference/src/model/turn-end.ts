let waiting: (() => void)[] = [];

/**
 * Runs a task at the end of this turn of the event loop, together with the tasks of all other calls in it. For writes
 * to sockets: in a row they save a tenth of the cost of a call, because the CPU caches of both sides are still warm
 * when the next one comes.
 *
 * A task must not throw: no caller would get the error.
 */
export function atTurnEnd(task: () => void): void {
  if (waiting.push(task) === 1) setImmediate(runAll);
}

let end: Promise<void> | null = null;

/**
 * Resolves at the end of this turn of the event loop. All waiting calls then do their next step in a row, without
 * reads from sockets in between.
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
