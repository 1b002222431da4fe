/**
 * An event of a streamed answer: the bytes that the caller gets, and the facts that code needs which watches or changes
 * streams.
 */
export interface AnswerFrame {
  /** The server-sent event, including the empty line at its end. */
  readonly bytes: Buffer;
  readonly event: FrameEvent;
}

/** Facts about an event that are known without parsing it. */
export interface FrameEvent {
  /** Name of the event, or the `type` of a Responses event; null for a chat chunk and for `[DONE]`. */
  readonly type: string | null;
  /** Offset in `bytes` at which the JSON begins; it ends before the empty line. Null for `[DONE]`. */
  readonly dataStart: number | null;
  /** True if the event contains a usage with a cost. */
  readonly isBilled: boolean;
  /** Whether nothing follows it. */
  readonly isEnd: boolean;
}

export const EVENT_END = Buffer.from('\n\n');
const DATA = 'data: ';

/** The last event of a Chat or Responses stream. */
export const DONE_FRAME: AnswerFrame = {
  bytes: Buffer.from('data: [DONE]\n\n'),
  event: { type: null, dataStart: null, isBilled: false, isEnd: true },
};

/** Describes events that have no name, only data. */
export function dataEvent(type: string | null = null, isBilled = false): FrameEvent {
  return { type, dataStart: DATA.length, isBilled, isEnd: false };
}

/** Returns the event that contains this JSON text. */
export function frameOf(data: string, event: FrameEvent): AnswerFrame {
  return { bytes: Buffer.from(`data: ${data}\n\n`), event };
}

/** Returns the JSON object in an event; null for `[DONE]`. */
export function frameData({ bytes, event: { dataStart } }: AnswerFrame): Buffer | null {
  return dataStart === null ? null : bytes.subarray(dataStart, bytes.length - EVENT_END.length);
}

/** Returns the event with other data. */
export function withFrameData({ bytes, event }: AnswerFrame, data: Buffer): AnswerFrame {
  return { bytes: Buffer.concat([bytes.subarray(0, event.dataStart ?? 0), data, EVENT_END]), event };
}

/** Joins the bytes of several events. */
export function joinFrames(frames: readonly AnswerFrame[]): Buffer {
  return frames.length === 1 ? frames[0]!.bytes : Buffer.concat(frames.map(({ bytes }) => bytes));
}
