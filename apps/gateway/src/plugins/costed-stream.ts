import {
  findValue,
  formatUsd,
  parseUsd,
  spliceMembers,
  type AnswerStream,
  type PicoUsd,
  type StreamableApi,
  type StreamOutcome,
} from '@libs/inference';

const EVENT_END = Buffer.from('\n\n');
const DATA = Buffer.from('data: ');
const COST = Buffer.from('"cost":');

/** A stream whose usage also tells what plugins cost. Events without a cost pass as they are. */
export class CostedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;

  constructor(
    private readonly api: StreamableApi,
    private readonly inner: AnswerStream,
    private readonly cost: PicoUsd,
  ) {
    this.outcome = inner.outcome;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const events of this.inner) yield this.#costed(events);
  }

  cancel(): void {
    this.inner.cancel();
  }

  lastWords(error: Parameters<AnswerStream['lastWords']>[0]): Buffer {
    return this.#costed(this.inner.lastWords(error));
  }

  /** Whoever writes a stream writes whole events, each of which ends with an empty line. */
  #costed(events: Buffer): Buffer {
    if (!events.includes(COST)) return events;
    const pieces: Buffer[] = [];
    for (let start = 0; start < events.length;) {
      const found = events.indexOf(EVENT_END, start);
      const end = found === -1 ? events.length : found + EVENT_END.length;
      pieces.push(this.#costedEvent(events.subarray(start, end)));
      start = end;
    }
    return Buffer.concat(pieces);
  }

  #costedEvent(event: Buffer): Buffer {
    const start = event.indexOf(DATA) + DATA.length;
    if (start < DATA.length || !event.includes(COST)) return event;
    const end = event.length - EVENT_END.length;
    const data = event.subarray(start, end);
    return Buffer.concat([event.subarray(0, start), this.#costedData(data), event.subarray(end)]);
  }

  #costedData(data: Buffer): Buffer {
    if (this.api !== 'responses') return withCost(data, this.cost);
    const response = findValue(data, ['response']);
    if (response === undefined) return data;
    return spliceMembers(data, { set: { response: withCost(response, this.cost) } });
  }
}

/** JSON text of an answer whose `usage.cost` is so much more; the same where it tells none. */
export function withCost(answer: Buffer, cost: PicoUsd): Buffer {
  const usage = findValue(answer, ['usage']);
  const told = usage && findValue(usage, ['cost']);
  const before = told === undefined ? Number.NaN : Number(told.toString());
  if (usage === undefined || !Number.isFinite(before)) return answer;
  const whole = formatUsd(parseUsd(before.toFixed(12)) + cost);
  return spliceMembers(answer, { set: { usage: spliceMembers(usage, { set: { cost: whole } }) } });
}
