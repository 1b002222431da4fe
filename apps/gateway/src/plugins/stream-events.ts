const EVENT_END = Buffer.from('\n\n');
const DATA = Buffer.from('data: ');
const OPEN_BRACE = 0x7b;

/** The events of a piece of a stream. Whoever writes a stream writes whole events, each of which ends with an empty line. */
export function splitEvents(events: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < events.length;) {
    const found = events.indexOf(EVENT_END, start);
    const end = found === -1 ? events.length : found + EVENT_END.length;
    pieces.push(events.subarray(start, end));
    start = end;
  }
  return pieces;
}

/** The JSON object that an event carries; null for comments and for `[DONE]`. */
export function dataOf(event: Buffer): Buffer | null {
  const start = event.indexOf(DATA) + DATA.length;
  if (start < DATA.length || event[start] !== OPEN_BRACE) return null;
  return event.subarray(start, event.length - EVENT_END.length);
}

/** The event with other data. */
export function withData(event: Buffer, data: Buffer): Buffer {
  const start = event.indexOf(DATA) + DATA.length;
  return Buffer.concat([event.subarray(0, start), data, EVENT_END]);
}
