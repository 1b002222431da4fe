import { LedgerRepository, type Database, type LedgerFinding } from '@libs/persistence';
import type { TestLine } from './batch-lines';
import type { TestPrices } from './catalogue';
import type { BatchBody } from './client';
import type { UpstreamCall } from './upstream-script';

/** A stored result and what it says it costs. Money as exact decimal strings. */
export interface StoredItem {
  readonly customId: string;
  readonly generationId: string | null;
  readonly failed: boolean;
  /** Its batch was cancelled while the provider worked on it. */
  readonly calledOff: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costUsd: string;
}

export interface StoredTransfer {
  readonly reference: string;
  readonly kind: string;
  readonly debitAccount: string;
  readonly creditAccount: string;
  readonly amountUsd: string;
}

export interface StoredHold {
  readonly state: string;
  readonly amountUsd: string;
  readonly settledUsd: string;
}

/** What the database holds of one batch, and the state of the books as a whole. */
export interface Books {
  readonly items: readonly StoredItem[];
  /** Charges of this batch's generations. */
  readonly transfers: readonly StoredTransfer[];
  readonly holds: readonly StoredHold[];
  /** Segments that were not tidied away. */
  readonly segments: number;
  /** Messages about this batch that were not sent. */
  readonly outboxRows: number;
  readonly drift: readonly LedgerFinding[];
}

/** Everything that is known of a batch from outside and from inside, for `findViolations`. */
export interface BatchHistory {
  readonly endpoint: '/v1/chat/completions' | '/v1/embeddings';
  readonly lines: readonly TestLine[];
  readonly prices: TestPrices;
  /** As the gateway answered it; null when the accepted batch was not found. */
  readonly batch: BatchBody | null;
  /** Statuses in the order they were seen. */
  readonly statuses: readonly string[];
  /** Calls of this batch's lines. */
  readonly calls: readonly UpstreamCall[];
  readonly books: Books;
}

/** Reads what the database holds of a batch. */
export async function readBooks(database: Database, batchId: string): Promise<Books> {
  const items = await database.rows<StoredItem>({
    sql: `SELECT r.custom_id AS "customId", r.generation_id AS "generationId", r.error IS NOT NULL AS failed,
            coalesce(r.error->>'type' = 'batch_cancelled', false) AS "calledOff",
            r.prompt_tokens::integer AS "promptTokens", r.completion_tokens::integer AS "completionTokens",
            r.cost_usd::text AS "costUsd"
          FROM batch_results r JOIN batches b ON b.number = r.batch_number WHERE b.id = $1 ORDER BY r.seq`,
    values: [batchId],
  });
  const references = items.flatMap(({ generationId }) => (generationId === null ? [] : [generationId]));
  const transfers = await database.rows<{
    reference: string;
    kind: string;
    debit: string;
    credit: string;
    amount: string;
  }>({
    sql: `SELECT reference, kind, debit_account AS debit, credit_account AS credit, amount_usd::text AS amount
          FROM ledger_transfers WHERE reference = ANY($1::text[])`,
    values: [references],
  });
  const holds = await database.rows<{ state: string; amount: string; settled: string }>({
    sql: 'SELECT state, amount_usd::text AS amount, settled_usd::text AS settled FROM ledger_holds WHERE id = $1',
    values: [batchId],
  });
  return {
    items,
    transfers: transfers.map((row) => ({
      reference: row.reference,
      kind: row.kind,
      debitAccount: row.debit,
      creditAccount: row.credit,
      amountUsd: row.amount,
    })),
    holds: holds.map((row) => ({ state: row.state, amountUsd: row.amount, settledUsd: row.settled })),
    segments: await count(
      database,
      'SELECT count(*)::integer AS n FROM batch_segments s JOIN batches b ON b.number = s.batch_number WHERE b.id = $1',
      batchId,
    ),
    outboxRows: await count(
      database,
      `SELECT count(*)::integer AS n FROM outbox WHERE payload->>'batchId' = $1`,
      batchId,
    ),
    drift: await new LedgerRepository(database).audit(),
  };
}

async function count(database: Database, sql: string, batchId: string): Promise<number> {
  const row = await database.firstRow<{ n: number }>({ sql, values: [batchId] });
  return row?.n ?? 0;
}
