import { dataEvent, DONE_FRAME, EVENT_END, joinFrames, type AnswerFrame } from '../model/answer-frame';
import type { AnswerStream } from '../model/answer-stream';

const DATA = 'data: ';

/** Returns the events of a text as a stream of the gateway has them. */
export function framesOf(text: string): AnswerFrame[] {
  return text.split(EVENT_END.toString()).slice(0, -1).map(frameOfText);
}

function frameOfText(event: string): AnswerFrame {
  const dataStart = event.indexOf(DATA) + DATA.length;
  const data = event.slice(dataStart);
  if (data === '[DONE]') return DONE_FRAME;
  const { type = null, error } = JSON.parse(data) as { type?: string; error?: unknown };
  const isEnd = type === 'message_stop' || (type === 'error' && error !== undefined);
  return {
    bytes: Buffer.concat([Buffer.from(event), EVENT_END]),
    event: { type, dataStart, isBilled: data.includes('"cost":'), isEnd },
  };
}

/** Returns an event without known parts. */
export function frameWith(bytes: Buffer | string): AnswerFrame {
  return { bytes: Buffer.from(bytes), event: dataEvent() };
}

/** Reads a stream to its end. */
export async function textOf(stream: Pick<AnswerStream, typeof Symbol.asyncIterator>): Promise<string> {
  let text = '';
  for await (const frames of stream) text += joinFrames(frames).toString();
  return text;
}
