import {
  findValue,
  formatUsd,
  parseUsd,
  spliceMembers,
  type AnswerStream,
  type PicoUsd,
  type StreamableApi,
} from '@libs/inference';
import { RewordedStream } from './reworded-stream';
import { dataOf, splitEvents, withData } from './stream-events';

const COST = Buffer.from('"cost":');

/** A stream whose usage also tells what plugins cost. Events without a cost pass as they are. */
export class CostedStream extends RewordedStream {
  constructor(
    private readonly api: StreamableApi,
    inner: AnswerStream,
    private readonly cost: PicoUsd,
  ) {
    super(inner);
  }

  protected override reworded(events: Buffer): Buffer {
    if (!events.includes(COST)) return events;
    return Buffer.concat(splitEvents(events).map((event) => this.#costedEvent(event)));
  }

  #costedEvent(event: Buffer): Buffer {
    if (!event.includes(COST)) return event;
    const data = dataOf(event);
    return data === null ? event : withData(event, this.#costedData(data));
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
