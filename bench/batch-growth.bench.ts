/**
 * The time that one worker takes for a line, which should stay the same as batches grow. Sizes take turns, so that what
 * else the machine does falls on all.
 *
 * Options: --lines 2000,20000,200000 --rounds 3 --concurrency 64
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain, say } from '../scripts/checkout';
import { catalogueOf } from '../test/support/catalogue';
import { Installation } from '../test/support/installation';
import { Upstream } from '../test/support/upstream';
import { DrainRace, MODEL, SCRIPT } from './support/drain-race';
import { median, rounded } from './support/statistics';

interface Options {
  readonly sizes: readonly number[];
  readonly rounds: number;
  readonly concurrency: number;
}

/** Small batches are measured so often that together they have this many lines. */
const LINES_OF_A_ROUND = 20_000;
const WARM_UP_LINES = 10_000;

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      lines: { type: 'string', default: '2000,20000,200000' },
      rounds: { type: 'string', default: '3' },
      concurrency: { type: 'string', default: '64' },
    },
  });
  return {
    sizes: values.lines.split(',').map((size) => readCount('lines', size)),
    rounds: readCount('rounds', values.rounds),
    concurrency: readCount('concurrency', values.concurrency),
  };
}

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new Error(`--${name} must be made of integers of at least 1`);
}

/** Microseconds per line, over as many batches of the size as make a round. */
async function microsPerLine(race: DrainRace, size: number): Promise<number> {
  const micros: number[] = [];
  const batches = Math.max(1, Math.round(LINES_OF_A_ROUND / size));
  for (let batch = 0; batch < batches; batch += 1) micros.push(1_000_000 / (await race.worker(size)).linesPerSecond);
  return median(micros);
}

async function measure({ sizes, rounds }: Options, race: DrainRace): Promise<object> {
  await race.worker(WARM_UP_LINES);
  const micros = new Map<number, number[]>(sizes.map((size) => [size, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const size of sizes) {
      const took = await microsPerLine(race, size);
      micros.get(size)?.push(took);
      say(`round ${round}: ${Math.round(took)} microseconds per line of ${size}`);
    }
  }
  const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes)];
  const middle = (size: number): number => median(micros.get(size) ?? []);
  return {
    benchmark: 'batch-growth',
    micros_per_line_by_lines: Object.fromEntries(sizes.map((size) => [size, rounded(middle(size), 1)])),
    largest_to_smallest: rounded(middle(largest) / middle(smallest), 3),
  };
}

async function main(): Promise<void> {
  const options = readOptions();
  const upstream = await Upstream.start({ [SCRIPT]: {} });
  const loop = fork(join(__dirname, 'support/plain-loop.js'), { execArgv: [] });
  const installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf([{ ...MODEL, baseUrl: upstream.baseUrl(SCRIPT), maxConcurrency: options.concurrency }]),
    environment: {
      BATCH_CONCURRENCY: String(options.concurrency),
      LOG_LEVEL: 'warn',
    },
  });
  try {
    const race = new DrainRace(options.concurrency, installation, upstream, loop);
    process.stdout.write(`${JSON.stringify(await measure(options, race))}\n`);
  } finally {
    loop.disconnect();
    await installation.stop();
    await upstream.stop();
  }
}

runMain(main);
