import { DONE_EVENT } from '../dialects/openai-chat/stream-events';
import type { AnswerSource } from './answer-source';

const EVENT_END = Buffer.from('\n\n');
const DATA = Buffer.from('data: ');
const OPEN_BRACE = 0x7b;

/** Replaces each event of a piece of a stream. */
export function eachEvent(events: Buffer, take: (event: Buffer) => readonly Buffer[]): Buffer {
  return Buffer.concat(splitEvents(events).flatMap(take));
}

/** Splits a piece of a stream into its events. Streams are written as whole events, each with an empty line at its end. */
function splitEvents(events: Buffer): Buffer[] {
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
export function eventData(event: Buffer): Buffer | null {
  const start = event.indexOf(DATA) + DATA.length;
  if (start < DATA.length || event[start] !== OPEN_BRACE) return null;
  return event.subarray(start, event.length - EVENT_END.length);
}

/** The event with other data. */
export function withEventData(event: Buffer, data: Buffer): Buffer {
  const start = event.indexOf(DATA) + DATA.length;
  return Buffer.concat([event.subarray(0, start), data, EVENT_END]);
}

/** Position of the last event of a stream in its last bytes, without the `[DONE]` that may follow it. */
export interface LastEvent {
  readonly start: number;
  /** Equal to `start` where only `[DONE]` is left. */
  readonly end: number;
}

/** Puts citations into the events of one stream. */
export interface StreamCiter {
  /** Returns the events that take the place of these, all of them whole. */
  cite(events: Buffer): Buffer;
}

/** What an event of our own says of its answer. */
export interface AnswerHead {
  readonly generationId: string;
  /** Slug of the model that answers. */
  readonly model: string;
  /** Name of the provider. */
  readonly provider: string;
}

/** How the streams of an API end, and where their events have the answer's own members. */
export interface StreamEnds {
  /** Null where the stream goes on after these events. */
  readonly lastEventIn: (events: Buffer) => LastEvent | null;
  /** Returns an event for members of the answer where only `[DONE]` is left; null for streams that never end so. */
  readonly ownEnd: ((head: AnswerHead) => Buffer) | null;
  /** Returns the JSON object in an event's data that has the members of a whole answer, such as `usage`. */
  readonly answerIn: (data: Buffer) => Buffer | undefined;
  /** Returns the data with another such object. */
  readonly withAnswer: (data: Buffer, answer: Buffer) => Buffer;
  readonly citer: (sources: readonly AnswerSource[], head: AnswerHead) => StreamCiter;
}

/** Finds the last event of a stream that ends with `[DONE]`. */
export function lastBeforeDone(events: Buffer): LastEvent | null {
  const end = events.length - DONE_EVENT.length;
  if (end < 0 || !events.subarray(end).equals(DONE_EVENT)) return null;
  return { start: lastEventStart(events.subarray(0, end)), end };
}

/** Returns where the last event begins. Every event ends with an empty line. */
export function lastEventStart(events: Buffer): number {
  const before = events.length < 4 ? -1 : events.lastIndexOf(EVENT_END, events.length - 3);
  return before === -1 ? 0 : before + EVENT_END.length;
}
