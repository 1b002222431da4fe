/** An event of a streamed answer: the bytes that its caller reads, and what code that watches or changes streams must know. */
export interface AnswerFrame {
  /** A server-sent event, with the empty line at its end. */
  readonly bytes: Buffer;
  readonly event: FrameEvent;
}

/** What is known of an event without parsing it. */
export interface FrameEvent {
  /** Its name, or the `type` of a responses event; null for a chunk of a chat and for `[DONE]`. */
  readonly type: string | null;
  /** Where the JSON in `bytes` begins, which ends before the empty line; null for `[DONE]`. */
  readonly dataStart: number | null;
  /** Whether it has a usage with a cost. */
  readonly isBilled: boolean;
  /** Whether nothing follows it. */
  readonly isEnd: boolean;
}

export const EVENT_END = Buffer.from('\n\n');
const DATA = 'data: ';

/** The last event of a chat or a response. */
export const DONE_FRAME: AnswerFrame = {
  bytes: Buffer.from('data: [DONE]\n\n'),
  event: { type: null, dataStart: null, isBilled: false, isEnd: true },
};

/** Describes events that have no name, only data. */
export function dataEvent(type: string | null = null, isBilled = false): FrameEvent {
  return { type, dataStart: DATA.length, isBilled, isEnd: false };
}

/** Returns an event from the JSON text in it. */
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

/** Returns the bytes of events one after the other. */
export function joinFrames(frames: readonly AnswerFrame[]): Buffer {
  return frames.length === 1 ? frames[0]!.bytes : Buffer.concat(frames.map(({ bytes }) => bytes));
}
