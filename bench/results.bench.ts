import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Database } from '@libs/persistence';
import { uploadBatch } from './support/batch-upload';
import { runBenchmark } from './support/comparison';
import { startInstallation, type Installation } from './support/installation';
import { watch } from './support/peak-memory';
import { median, rounded } from './support/statistics';

/**
 * Measures how fast one reader gets the results of a finished batch, compared with reading the same bodies by COPY
 * from their table; and how much memory the gateway takes for that, also for a slow reader.
 */
const RESULTS = Number(process.env.BENCH_RESULTS ?? 100_000);
const BODY_BYTES = Number(process.env.BENCH_BODY_BYTES ?? 1_024);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SLOW_READER_MS = 3_000;
const MEBIBYTE = 1024 * 1024;

const line = Buffer.from('{"messages":[{"role":"user","content":"x"}],"max_tokens":1}');
const answer = {
  id: 'gen-batch-1',
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '' } }],
};
const BODY = JSON.stringify(answer).replace('"content":""', `"content":"${'a'.repeat(BODY_BYTES)}"`);

/** As if a worker had run the batch. */
async function finish(database: Database, id: string): Promise<void> {
  await database.transaction(async (session) => {
    await session.client.query(`SET LOCAL statement_timeout = 0`);
    await session.execute({
      sql: `INSERT INTO batch_results (created_on, batch_number, seq, custom_id, status_code, request_id, body)
            SELECT created_on, batch_number, seq, custom_id, 200, 'req-' || seq, $2
            FROM batch_lines WHERE batch_number = (SELECT number FROM batches WHERE id = $1)`,
      values: [id, Buffer.from(BODY)],
    });
    await session.execute({
      sql: `UPDATE batches SET status = 'completed', finalized_at = now(), completed = total, failed = 0 WHERE id = $1`,
      values: [id],
    });
  });
}

async function open({ gatewayUrl, apiKey }: Installation, id: string): Promise<IncomingMessage> {
  const asked = get(`${gatewayUrl}/batches/${id}`, { headers: { authorization: `Bearer ${apiKey}` } });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the batch was answered with ${response.statusCode}`);
  return response;
}

async function bytesOf(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}

/** The same bodies as the database gives them out by itself. */
async function copyOut(database: Database): Promise<void> {
  await database.session(async (session) => {
    await session.client.query('SET statement_timeout = 0');
    let bytes = 0;
    await session.copyEach('SELECT custom_id, body FROM batch_results', (row) => (bytes += row.lengthOf(1)));
    if (bytes === 0) throw new Error('there are no results');
  });
}

async function measure(installation: Installation): Promise<object> {
  const { database, gateway } = installation;
  const id = await uploadBatch({ ...installation, model: 'bench/chat', lines: RESULTS, bodyOf: () => line });
  await finish(database, id);
  const [reads, copies] = [[] as number[], [] as number[]];
  const cpu: number[] = [];
  const memory: object[] = [];
  let bytes = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const read = await watch(gateway, async () => bytesOf(await open(installation, id)));
    bytes = read.result;
    const startedMs = performance.now();
    await copyOut(database);
    if (round === 0) continue;
    copies.push((performance.now() - startedMs) / 1_000);
    reads.push(read.seconds);
    cpu.push(read.cpuSeconds);
    memory.push({ idle: read.idleMebibytes, peak: read.peakMebibytes, grown: read.peakMebibytes - read.idleMebibytes });
  }
  const slow = await watch(gateway, async () => {
    const response = await open(installation, id);
    response.pause();
    await new Promise((resolve) => setTimeout(resolve, SLOW_READER_MS));
    response.destroy();
  });
  const rate = (seconds: number): number => rounded(bytes / MEBIBYTE / seconds, 1);
  return {
    benchmark: 'results',
    results: RESULTS,
    mebibytes: rounded(bytes / MEBIBYTE, 1),
    read: {
      mebibytes_per_second: rate(median(reads)),
      gateway_cpu_seconds: rounded(median(cpu), 2),
      rss_mebibytes: memory,
    },
    copy_out: { mebibytes_per_second: rate(median(copies)) },
    ratio: rounded(median(copies) / median(reads), 2),
    slow_reader: { rss_grown_mebibytes: slow.peakMebibytes - slow.idleMebibytes },
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
