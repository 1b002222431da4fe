import type { Database } from '../database';

export interface BatchLine {
  readonly seq: number;
  readonly customId: string;
  /** The caller's bytes of `requests[].body`. */
  readonly body: Buffer;
}

/** Lines that meet `condition`, an SQL text over `l` made of our own numbers and dates only. */
export async function selectLines(database: Database, condition: string): Promise<BatchLine[]> {
  const lines: BatchLine[] = [];
  await database.session((session) =>
    session.copyEach(`SELECT l.seq, l.custom_id, l.body FROM batch_lines l WHERE ${condition}`, (row) =>
      lines.push({ seq: row.integer(0), customId: row.text(1), body: row.bytea(2) }),
    ),
  );
  return lines;
}
