import { CopyRow } from '@libs/persistence';

export interface ResultFields {
  readonly seq: number;
  readonly customId: string;
  readonly statusCode?: number;
  readonly requestId?: string;
  readonly body?: string;
  readonly error?: string;
}

/** A row as PostgreSQL sends it. */
export function rowOf({ seq, customId, statusCode, requestId, body, error }: ResultFields): CopyRow {
  const number = (value: number | undefined, write: 'writeInt16BE' | 'writeInt32BE', bytes: number): Buffer | null => {
    if (value === undefined) return null;
    const buffer = Buffer.alloc(bytes);
    buffer[write](value);
    return buffer;
  };
  const text = (value: string | undefined): Buffer | null => (value === undefined ? null : Buffer.from(value));
  const fields = [
    number(seq, 'writeInt32BE', 4),
    text(customId),
    number(statusCode, 'writeInt16BE', 2),
    text(requestId),
    text(body),
    text(error),
  ];
  const parts = fields.flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(field?.length ?? -1);
    return field === null ? [length] : [length, field];
  });
  const row = new CopyRow();
  row.read(Buffer.concat([Buffer.from([0, fields.length]), ...parts]), 0);
  return row;
}
