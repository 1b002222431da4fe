import {
  APIS,
  eachEvent,
  eventData,
  findValue,
  formatUsd,
  parseUsd,
  spliceMembers,
  withEventData,
  type AnswerStream,
  type PicoUsd,
  type StreamableApi,
} from '@libs/inference';
import { RewordedStream } from './reworded-stream';

const COST = Buffer.from('"cost":');

/** Adds the cost of plugins to the usage in a stream. Events without a cost pass unchanged. */
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
    return eachEvent(events, (event) => [this.#costedEvent(event)]);
  }

  #costedEvent(event: Buffer): Buffer {
    if (!event.includes(COST)) return event;
    const data = eventData(event);
    return data === null ? event : withEventData(event, this.#costedData(data));
  }

  #costedData(data: Buffer): Buffer {
    const { answerIn, withAnswer } = APIS[this.api].stream;
    const answer = answerIn(data);
    return answer === undefined ? data : withAnswer(data, withCost(answer, this.cost));
  }
}

/** Returns the JSON text of an answer with `cost` added to its `usage.cost`; the same if it has none. */
export function withCost(answer: Buffer, cost: PicoUsd): Buffer {
  const usage = findValue(answer, ['usage']);
  const told = usage && findValue(usage, ['cost']);
  const before = told === undefined ? Number.NaN : Number(told.toString());
  if (usage === undefined || !Number.isFinite(before)) return answer;
  const whole = formatUsd(parseUsd(before.toFixed(12)) + cost);
  return spliceMembers(answer, { set: { usage: spliceMembers(usage, { set: { cost: whole } }) } });
}
