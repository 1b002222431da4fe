import { BatchLineEncoder, type Database } from '@libs/persistence';
import { from as copyFrom } from 'pg-copy-streams';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { uploadBatch } from './support/batch-upload';
import { runBenchmark } from './support/comparison';
import { startInstallation, type Installation } from './support/installation';
import { watch, type Watched } from './support/peak-memory';
import { median, rounded } from './support/statistics';

/**
 * Measures how fast a batch of nearly 200 MiB is received, checked, priced and stored, compared with a plain COPY of
 * the same rows, unchecked, into a table like that of the lines (same columns, same indexes, slices of the same size);
 * and how much memory the gateway takes for one such upload, and for four at once.
 */
const BODY_BYTES = Number(process.env.BENCH_BODY_BYTES ?? 2_048);
const TOTAL_BYTES = Number(process.env.BENCH_BYTES ?? 199 * 1024 * 1024);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const AT_ONCE = 4;
const SLICE_BYTES = 8 * 1024 * 1024;
const MODEL = 'bench/chat';
const WRAPPING_BYTES = 40;
const LINES = Math.floor(TOTAL_BYTES / (BODY_BYTES + WRAPPING_BYTES));
const MEBIBYTE = 1024 * 1024;

const HEAD = '{"max_tokens":16,"messages":[{"role":"user","content":"';
const TAIL = '"}]}';
const TEXT = 'The quick brown fox jumps over the lazy dog, \\"quoted\\" and all. '.repeat(Math.ceil(BODY_BYTES / 60));

function bodyOf(index: number): Buffer {
  const content = `${index} ${TEXT}`.slice(0, BODY_BYTES - HEAD.length - TAIL.length - 1).replace(/\\$/, ' ');
  return Buffer.from(HEAD + content + TAIL);
}

async function copyRows(database: Database, batchNumber: bigint): Promise<void> {
  const encoder = new BatchLineEncoder(new Date().toISOString().slice(0, 10), batchNumber, SLICE_BYTES);
  const write = (): Promise<void> =>
    database.transaction((session) =>
      pipeline(
        Readable.from([encoder.take()]),
        session.client.query(
          copyFrom('COPY bench_lines (created_on, batch_number, seq, custom_id, body) FROM STDIN (FORMAT binary)'),
        ),
      ),
    );
  for (let index = 0; index < LINES; index += 1) {
    encoder.add(index, `line-${index}`, bodyOf(index));
    if (encoder.size >= SLICE_BYTES) await write();
  }
  await write();
}

const upload = ({ gatewayUrl, apiKey }: Installation): Promise<string> =>
  uploadBatch({ gatewayUrl, apiKey, model: MODEL, lines: LINES, bodyOf });

/** The rows of one round are no burden on the next. */
const clear = async (database: Database): Promise<void> => {
  await database.execute({ sql: 'TRUNCATE bench_lines, batch_lines' });
};

function rssOf({ idleMebibytes, peakMebibytes }: Watched<unknown>): object {
  return { idle: idleMebibytes, peak: peakMebibytes, grown: peakMebibytes - idleMebibytes };
}

async function measure(installation: Installation): Promise<object> {
  const { database, gateway } = installation;
  await database.execute({ sql: 'CREATE TABLE bench_lines (LIKE batch_lines INCLUDING ALL)' });
  const coldMebibytes = gateway.residentMebibytes();
  const [uploads, copies]: [Watched<string>[], number[]] = [[], []];
  let firstMebibytes = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    await clear(database);
    const uploaded = await watch(gateway, () => upload(installation));
    await clear(database);
    const startedMs = performance.now();
    await copyRows(database, BigInt(round + 1));
    const seconds = (performance.now() - startedMs) / 1_000;
    if (round === 0) firstMebibytes = uploaded.peakMebibytes;
    if (round === 0) continue;
    uploads.push(uploaded);
    copies.push(seconds);
  }
  await clear(database);
  const together = await watch(gateway, () => Promise.all(Array.from({ length: AT_ONCE }, () => upload(installation))));
  const bytes = LINES * (BODY_BYTES + WRAPPING_BYTES);
  const rate = (seconds: number): number => rounded(bytes / MEBIBYTE / seconds, 1);
  const [uploadSeconds, copySeconds] = [median(uploads.map(({ seconds }) => seconds)), median(copies)];
  return {
    benchmark: 'intake',
    lines: LINES,
    mebibytes: rounded(bytes / MEBIBYTE, 1),
    upload: {
      mebibytes_per_second: rate(uploadSeconds),
      gateway_cpu_seconds: rounded(median(uploads.map(({ cpuSeconds }) => cpuSeconds)), 2),
      first_upload_rss_mebibytes: { cold: coldMebibytes, peak: firstMebibytes, grown: firstMebibytes - coldMebibytes },
      rss_mebibytes: uploads.map(rssOf),
    },
    plain_copy: { mebibytes_per_second: rate(copySeconds) },
    ratio: rounded(copySeconds / uploadSeconds, 2),
    four_at_once: { mebibytes_per_second: rate(together.seconds / AT_ONCE), rss_mebibytes: rssOf(together) },
  };
}

runBenchmark(async () => {
  const installation = await startInstallation({ creditUsd: '1000000' });
  try {
    return await measure(installation);
  } finally {
    await installation.stop();
  }
});
