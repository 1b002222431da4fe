const SIGNATURE_LENGTH = 11;
const FLAGS_LENGTH = 4;

/** Rows of a finished binary COPY stream: each field as its raw bytes, null for SQL NULL. */
export function decodeCopyRows(bytes: Buffer): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = SIGNATURE_LENGTH + FLAGS_LENGTH;
  at += 4 + bytes.readInt32BE(at);
  for (;;) {
    const fieldCount = bytes.readInt16BE(at);
    at += 2;
    if (fieldCount < 0) return rows;
    const row: (Buffer | null)[] = [];
    for (let field = 0; field < fieldCount; field += 1) {
      const length = bytes.readInt32BE(at);
      at += 4;
      if (length < 0) {
        row.push(null);
      } else {
        row.push(bytes.subarray(at, at + length));
        at += length;
      }
    }
    rows.push(row);
  }
}
