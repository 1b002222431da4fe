import { connect } from 'amqplib';
import { queues, type QueueSpec } from '@libs/contracts';
import { LedgerRepository, type Database } from '@libs/persistence';
import { readBooks, type Books } from '../support/history';
import type { Dump, StoredVideo } from './evidence';
import type { StormHistory } from './history';
import { submissionIn } from './loads/video-submitter';
import type { OpenCall } from './quiescence';

const MS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** Reads what the database and the broker hold. */
export async function readDump(
  database: Database,
  brokerUrl: string,
  history: StormHistory,
  about: { readonly openCalls: readonly OpenCall[]; readonly leastAvailableUsd: string },
): Promise<Dump> {
  const rows = <T extends object>(sql: string): Promise<T[]> => database.rows<T>({ sql });
  const one = async (sql: string): Promise<number> => (await rows<{ n: number }>(sql))[0]!.n;
  const drift = await new LedgerRepository(database).audit();
  const openBefore = new Map(about.openCalls.map(({ id, createdMs }) => [id, createdMs]));
  const generations = await rows<Dump['generations'][number]>(
    `SELECT id, state, outcome, cost_usd::text AS "costUsd", ${MS('created_at')} AS "createdMs",
       details->>'userAgent' AS marker FROM generations`,
  );
  return {
    generations: generations.map((row) => ({ ...row, createdMs: openBefore.get(row.id) ?? row.createdMs })),
    charges: await rows(
      `SELECT reference, amount_usd::text AS "amountUsd" FROM ledger_transfers WHERE kind = 'charge'`,
    ),
    results: await rows(
      `SELECT b.id AS "batchId", r.custom_id AS "customId", r.generation_id AS "generationId",
         r.error IS NOT NULL AS failed, coalesce(r.error->>'type' = 'batch_cancelled', false) AS "calledOff",
         r.prompt_tokens::integer AS "promptTokens",
         r.completion_tokens::integer AS "completionTokens", r.cost_usd::text AS "costUsd"
       FROM batch_results r JOIN batches b ON b.number = r.batch_number`,
    ),
    holds: await rows(
      `SELECT id, state, amount_usd::text AS "amountUsd", settled_usd::text AS "settledUsd" FROM ledger_holds`,
    ),
    batches: await rows(
      `SELECT b.id, b.idempotency_key AS "idempotencyKey", b.status, b.deleted_at IS NOT NULL AS deleted,
         b.total, b.completed, b.failed, b.error_message AS "errorMessage",
         (SELECT custom_id FROM batch_lines l WHERE l.batch_number = b.number ORDER BY seq LIMIT 1) AS "firstCustomId"
       FROM batches b`,
    ),
    videos: (
      await rows<Omit<StoredVideo, 'submission'> & { readonly callbackUrl: string | null }>(
        `SELECT id, status, cost_usd::text AS "costUsd", callback_url AS "callbackUrl" FROM videos`,
      )
    ).map(({ callbackUrl, ...video }) => ({ ...video, submission: submissionIn(callbackUrl) })),
    booksOfBatches: await booksOf(database, history),
    outboxRows: await one('SELECT count(*)::integer AS n FROM outbox'),
    segments: await one('SELECT count(*)::integer AS n FROM batch_segments'),
    drift: drift.map((row) => `${row.kind} ${row.id}: ${row.figure} is ${row.foundUsd}, not ${row.expectedUsd}`),
    leastAvailableUsd: about.leastAvailableUsd,
    queues: await queueDepths(brokerUrl),
    connections: await one(
      `SELECT count(*)::integer AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'storm'`,
    ),
  };
}

/** The books of each batch that was not deleted. The audit is looked at once, for all. */
async function booksOf(database: Database, history: StormHistory): Promise<Map<string, Books>> {
  const books = new Map<string, Books>();
  for (const { id, wasDeleted } of history.batches) {
    if (!wasDeleted) books.set(id, { ...(await readBooks(database, id)), drift: [] });
  }
  return books;
}

function queueNames(): string[] {
  return Object.values<QueueSpec>(queues).flatMap(({ name, kind }) =>
    kind === 'call' ? [name] : [name, `${name}.dead`],
  );
}

async function queueDepths(brokerUrl: string): Promise<Record<string, number>> {
  const depths: Record<string, number> = {};
  const connection = await connect(brokerUrl);
  connection.on('error', () => undefined);
  try {
    for (const name of queueNames()) {
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      // A queue that is missing closes the channel; which of them exist is not this check's matter.
      const depth = await channel.checkQueue(name).then(
        ({ messageCount }) => messageCount,
        () => 0,
      );
      if (depth > 0) depths[name] = depth;
    }
  } finally {
    await connection.close();
  }
  return depths;
}
