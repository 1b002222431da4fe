/** Half the size limit of a message. One credential with the longest lists takes a tenth of a megabyte. */
const MAX_BYTES = 512 * 1024;

/** Returns as many leading records as fit into one message, at least one. */
export function fittingRecords<T extends object>(records: readonly T[]): T[] {
  let bytes = 0;
  const tooMany = records.findIndex((record, index) => {
    bytes += Buffer.byteLength(JSON.stringify(record));
    return index > 0 && bytes > MAX_BYTES;
  });
  return tooMany === -1 ? [...records] : records.slice(0, tooMany);
}
