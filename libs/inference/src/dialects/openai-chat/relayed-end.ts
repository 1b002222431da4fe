import { findMember, type ByteEdit, type JsonMember, type ScannedObject } from '@libs/json';
import { toFinishReason, type FinishReason } from '../../model/finish-reason';

/** How a choice ended, and what has to change so that the caller reads it. */
export interface RelayedEnd {
  /** Null while the choice is running. */
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly edits: readonly ByteEdit[];
  /** Fields that the choice of a whole answer must have, as JSON text. */
  readonly required: Readonly<Record<string, string>>;
}

/** What is known of a choice besides its fields. */
export interface ReadChoice {
  /** The upstream's own `native_finish_reason`. */
  readonly native: string | null;
  /** False for a chunk of a stream. */
  readonly isWhole: boolean;
  readonly hasCalls: boolean;
}

const LOGPROBS = { logprobs: 'null' };
const RUNNING: RelayedEnd = { finishReason: null, nativeFinishReason: null, edits: [], required: LOGPROBS };
const QUOTE = 0x22;
/** First byte of `null`. */
const NULL = 0x6e;

/**
 * Reads how a choice ended. Some upstreams stream `""` until the answer has ended. A whole answer without a reason has
 * arrived completely, so it stopped or called tools.
 */
export function readEnd(choice: ScannedObject, { native, isWhole, hasCalls }: ReadChoice): RelayedEnd {
  const { bytes } = choice;
  const finish = findMember(choice, 'finish_reason');
  const first = finish === undefined ? NULL : bytes[finish.valueStart];
  if (first === QUOTE && bytes[finish!.valueStart + 1] !== QUOTE) return saidEnd(bytes, finish!, native);
  if (isWhole) return unsaidEnd(hasCalls ? 'tool_calls' : 'stop', finish, native);
  return first === NULL ? RUNNING : { ...RUNNING, edits: [replaced(finish!, 'null')] };
}

/** Writes our finish reason, and keeps the upstream's as `native_finish_reason`. */
function saidEnd(bytes: Buffer, finish: JsonMember, native: string | null): RelayedEnd {
  const said = bytes.toString('utf8', finish.valueStart + 1, finish.valueEnd - 1);
  const reason = toFinishReason(said);
  const edits: ByteEdit[] = reason === said ? [] : [replaced(finish, `"${reason}"`)];
  if (native === null) {
    edits.push({ start: finish.valueEnd, end: finish.valueEnd, text: `,"native_finish_reason":"${said}"` });
  }
  return { finishReason: reason, nativeFinishReason: native ?? said, edits, required: LOGPROBS };
}

function unsaidEnd(reason: FinishReason, finish: JsonMember | undefined, native: string | null): RelayedEnd {
  return {
    finishReason: reason,
    nativeFinishReason: native,
    edits: finish === undefined ? [] : [replaced(finish, `"${reason}"`)],
    required: { ...LOGPROBS, finish_reason: `"${reason}"`, native_finish_reason: 'null' },
  };
}

function replaced({ valueStart, valueEnd }: JsonMember, text: string): ByteEdit {
  return { start: valueStart, end: valueEnd, text };
}
