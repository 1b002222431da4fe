import type { CopyRow } from '../copy-row';

export interface BatchLine {
  readonly seq: number;
  readonly customId: string;
  /** The caller's bytes of `requests[].body`. */
  readonly body: Buffer;
}

/** The database, or the view of it that a tenant has. */
export interface LineSource {
  copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void>;
}

/** Returns lines that meet `condition`, an SQL text over `l` that contains only our own numbers and dates. */
export async function selectLines(source: LineSource, condition: string): Promise<BatchLine[]> {
  const lines: BatchLine[] = [];
  await source.copyEach(`SELECT l.seq, l.custom_id, l.body FROM batch_lines l WHERE ${condition}`, (row) =>
    lines.push({ seq: row.integer(0), customId: row.text(1), body: row.bytea(2) }),
  );
  return lines;
}
