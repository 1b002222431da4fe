import { findValue, spliceMembers } from '@libs/json';
import {
  APIS,
  formatUsd,
  frameData,
  parseUsd,
  withFrameData,
  type AnswerFrame,
  type PicoUsd,
  type StreamableApi,
} from '@libs/inference';

/** Returns a function that adds a cost to the usage in events of a stream. */
export function addingCost(api: StreamableApi, cost: PicoUsd): (frame: AnswerFrame) => readonly AnswerFrame[] {
  const { answerIn, withAnswer } = APIS[api].stream;
  return (frame) => {
    const data = frame.event.isBilled ? frameData(frame) : null;
    const answer = data === null ? undefined : answerIn(data);
    if (data === null || answer === undefined) return [frame];
    return [withFrameData(frame, withAnswer(data, withCost(answer, cost)))];
  };
}

/** Returns the JSON text of an answer with `cost` added to its `usage.cost`; unchanged if it has none. */
export function withCost(answer: Buffer, cost: PicoUsd): Buffer {
  const usage = findValue(answer, ['usage']);
  const listed = usage && findValue(usage, ['cost']);
  const before = listed === undefined ? Number.NaN : Number(listed.toString());
  if (usage === undefined || !Number.isFinite(before)) return answer;
  const whole = formatUsd(parseUsd(before.toFixed(12)) + cost);
  return spliceMembers(answer, { set: { usage: spliceMembers(usage, { set: { cost: whole } }) } });
}
