import { setTimeout as delay } from 'node:timers/promises';
import { queues } from '@libs/contracts';
import { startBatchInstallation, type BatchInstallation } from '../support/batch-installation';
import { chatRequests, linesOf } from '../support/batch-lines';
import { queueDepth } from '../support/broker';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { bytesOf, growthOf, rowsOfTables } from '../support/table-growth';
import { say } from '../support/say';

/**
 * Many batches of one line: what a batch costs in addition to its lines, and whether anything is left behind or grows
 * without bound. `SLUICE_CHAOS=full` runs ten thousand of them, twice.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const BATCHES = FULL ? 10_000 : 100;
const CALLERS = 8;
const END_MS = FULL ? 900_000 : 90_000;
const BOOT_TIMEOUT_MS = 240_000;
const WATCH_MS = 250;
/** So many batches a caller has under way before it waits for the oldest of them. */
const LEAD = FULL ? 25 : 2;
/** Whatever is left behind by each of the others adds up to more; a message may outlive a batch that was swept. */
const MOST_WAITING = 2 * CALLERS * (LEAD + 1);
/** Rows come and go; what they leave on disk is used again, and is far below this for any number of batches. */
const MOST_BYTES_OF_WORK = 16 * 1024 * 1024;
const WORK_TABLES = ['outbox', 'batch_segments'] as const;
const DEAD_QUEUE = `${queues.batches.name}.dead`;

interface Peaks {
  outbox: number;
  segments: number;
  queue: number;
}

let started: BatchInstallation;
let upstream: BatchInstallation['upstream'];
let installation: BatchInstallation['installation'];
let client: ApiClient;

beforeAll(async () => {
  started = await startBatchInstallation({
    scripts: { fast: {} },
    pricing: { prompt: '0.000000123', completion: '0.000000457' },
    environment: { BATCH_SUBMISSIONS_PER_MINUTE: '1000000', BATCH_READS_PER_MINUTE: '1000000' },
  });
  ({ upstream, installation, client } = started);
  // The first makes rows that later ones share.
  await allCompleted([await submit('first')]);
}, BOOT_TIMEOUT_MS);

afterAll(() => started?.stop(), BOOT_TIMEOUT_MS);

beforeEach(() => upstream.forget());

jest.setTimeout(3 * END_MS);

async function submit(tag: string): Promise<string> {
  const requests = chatRequests(linesOf(tag, 1));
  const { status, body } = await client.submitBatch({
    endpoint: '/v1/chat/completions',
    model: 'tests/fast',
    requests,
  });
  expect(status).toBe(202);
  return body.id;
}

async function submitAll(tag: string, lead = BATCHES): Promise<string[]> {
  const ids: string[] = [];
  const caller = async (): Promise<void> => {
    const own: string[] = [];
    while (ids.length < BATCHES) {
      const place = ids.push('') - 1;
      ids[place] = await submit(`${tag}-${place}`);
      own.push(ids[place]);
      if (own.length > lead) await allCompleted([own.at(-1 - lead)!]);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return ids;
}

function allCompleted(ids: readonly string[]): Promise<true> {
  return eventually('all are completed', END_MS, async () => {
    const row = await installation.database.firstRow<{ n: number }>({
      sql: `SELECT count(*)::integer AS n FROM batches WHERE id = ANY($1) AND status = 'completed' AND completed = 1`,
      values: [ids],
    });
    return row!.n === ids.length ? true : undefined;
  });
}

/** The most that was seen waiting at any time while `run` went on. */
async function peaksDuring(run: () => Promise<void>): Promise<Peaks> {
  const peaks: Peaks = { outbox: 0, segments: 0, queue: 0 };
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const row = await installation.database.firstRow<{ outbox: number; segments: number }>({
        sql: `SELECT (SELECT count(*) FROM outbox)::integer AS outbox,
                     (SELECT count(*) FROM batch_segments)::integer AS segments`,
      });
      peaks.outbox = Math.max(peaks.outbox, row!.outbox);
      peaks.segments = Math.max(peaks.segments, row!.segments);
      peaks.queue = Math.max(peaks.queue, await queueDepth(installation.broker.url, queues.batches.name));
      await delay(WATCH_MS);
    }
  };
  const watching = watch();
  try {
    await run();
  } finally {
    isOver = true;
    await watching;
  }
  return peaks;
}

/** Every table has as many rows more as there were batches, or none; work is done and leaves no room behind. */
async function expectNothingLeft(before: ReadonlyMap<string, number>): Promise<void> {
  await eventually('the queue is empty', 30_000, async () =>
    (await queueDepth(installation.broker.url, queues.batches.name)) === 0 ? true : undefined,
  );
  expect(await queueDepth(installation.broker.url, DEAD_QUEUE)).toBe(0);
  const growth = growthOf(before, await rowsOfTables(installation.database));
  // A row for each worker, and one for each task of the whole installation, whatever passes through.
  growth.delete('batch_workers');
  growth.delete('task_runs');
  expect(Object.fromEntries(growth)).toEqual({
    batches: BATCHES,
    batch_lines: BATCHES,
    batch_results: BATCHES,
    ledger_holds: BATCHES,
    ledger_transfers: BATCHES,
  });
  for (const table of WORK_TABLES) {
    expect(await bytesOf(installation.database, table)).toBeLessThan(MOST_BYTES_OF_WORK);
  }
  expect((await upstream.counts()).calls).toBe(BATCHES);
}

async function report(what: string, beganMs: number, peaks: Peaks): Promise<void> {
  const seconds = (performance.now() - beganMs) / 1_000;
  const bytes = await Promise.all(WORK_TABLES.map(async (table) => `${table} ${await kibibytes(table)} KiB`));
  const rate = `${(BATCHES / seconds).toFixed(0)} a second`;
  say(
    `${BATCHES} batches ${what} in ${seconds.toFixed(1)} s, ${rate}; at most ${JSON.stringify(peaks)}; ${bytes.join(', ')}`,
  );
}

const kibibytes = async (table: string): Promise<number> =>
  Math.round((await bytesOf(installation.database, table)) / 1_024);

describe('many small batches', () => {
  it('drain as they come, and leave no queue, outbox or work table behind', async () => {
    const before = await rowsOfTables(installation.database);
    const beganMs = performance.now();
    const peaks = await peaksDuring(async () => allCompleted(await submitAll('flowing', LEAD)).then(() => undefined));
    await report('as they came', beganMs, peaks);
    await expectNothingLeft(before);
    for (const most of Object.values(peaks)) expect(most).toBeLessThanOrEqual(MOST_WAITING);
  });

  it('drain when all of them have waited for a worker', async () => {
    await installation.stopApp('batch-worker');
    const before = await rowsOfTables(installation.database);
    const ids = await submitAll('waiting');
    // They wait as rows; the broker has a message for each, and the outbox none.
    await eventually('the outbox is empty', 30_000, async () =>
      (await rowsOfTables(installation.database)).get('outbox') === 0 ? true : undefined,
    );
    const beganMs = performance.now();
    const peaks = await peaksDuring(async () => {
      await installation.startApp('batch-worker');
      await allCompleted(ids);
    });
    await report('that had waited', beganMs, peaks);
    await expectNothingLeft(before);
    expect(peaks).toEqual({ outbox: 0, segments: BATCHES, queue: BATCHES });
  });
});
