import type { Database } from '../database';

export interface BatchLine {
  readonly seq: number;
  readonly customId: string;
  /** The caller's bytes of `requests[].body`. */
  readonly body: Buffer;
}

/** Lines that meet `condition`, an SQL text over `l` made of our own numbers and dates only. */
export async function selectLines(database: Database, condition: string): Promise<BatchLine[]> {
  const rows = await database.session((session) =>
    session.copyRows(`SELECT l.seq, l.custom_id, l.body FROM batch_lines l WHERE ${condition}`),
  );
  return rows.map(([seq, customId, body]) => ({
    seq: (seq as Buffer).readInt32BE(),
    customId: (customId as Buffer).toString(),
    body: body as Buffer,
  }));
}
