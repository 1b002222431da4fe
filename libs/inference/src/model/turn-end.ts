let waiting: (() => void)[] = [];

/**
 * Runs a task at the end of this turn of the event loop, together with those of all other calls that were at work in
 * it. For writes to sockets: one after the other they cost a tenth of a whole call less than with work in between,
 * because neither our caches nor the peers have gone cold when the next one comes.
 *
 * A task must not throw: nobody is left to hear of it.
 */
export function atTurnEnd(task: () => void): void {
  if (waiting.push(task) === 1) setImmediate(runAll);
}

let end: Promise<void> | null = null;

/**
 * Resolves at the end of this turn of the event loop. What all calls do next they then do together: the same few
 * steps for each, with no reads from sockets in between.
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
