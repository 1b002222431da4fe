import { applyEdits, memberEdits, spliceMembers, type ByteEdit } from '@libs/json';
import { dataEvent, EVENT_END, frameOf, type AnswerFrame } from '../../model/answer-frame';
import type { AnswerContext } from '../dialect';
import type { Bill } from '../translation';
import { readEcho, responseObject } from './response-object';
import type { StreamEvent } from './relayed-event';
import { ownResponseMembers, responseEdits, type OwnResponseMembers } from './relayed-answer';
import { responseUsageText } from './usage';

const EVENT_START = Buffer.from('data: ');
const FRAME = { prefix: EVENT_START, suffix: EVENT_END, from: 0 };

/** Most bytes of finished items to keep for the last event of a stream that breaks off. */
const LARGEST_KEPT_OUTPUT = 8 * 1024 * 1024;

/**
 * Writes the gateway's names and numbers into an upstream's events. Keeps what the last event of a broken stream must
 * contain.
 */
export class ResponseEventRewriter {
  readonly #context: AnswerContext;
  readonly #own: OwnResponseMembers;
  #next = 0;
  /** The response in the first event, as it was sent to the caller. */
  #snapshot: Buffer | null = null;
  /** Finished items, as JSON text. */
  readonly #items: Buffer[] = [];
  #itemBytes = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#own = ownResponseMembers(context);
  }

  /** Bytes of the finished items that are kept. */
  get keptBytes(): number {
    return Math.min(this.#itemBytes, LARGEST_KEPT_OUTPUT);
  }

  /** Returns the events before the upstream's first: about the calls to providers, if the caller asked for them. */
  opening(): AnswerFrame[] {
    return (this.#context.debug?.take() ?? []).map((call) => this.#event('response.debug', `"debug":${call}`, false));
  }

  /** Returns the event for the caller. `bill` completes the usage in its response. */
  rewrite(event: StreamEvent, bill: Bill | null): AnswerFrame {
    const inner = event.response ? responseEdits(event.response, this.#own, bill) : [];
    this.#remember(event, inner);
    const bytes = applyEdits(event.bytes, [...this.#numberEdits(event, {}), ...inner].sort(byPlace), FRAME);
    return { bytes, event: dataEvent(event.type, bill !== null) };
  }

  /** Returns the upstream's last event of a failed response, with the given fields in place of its own. */
  rewriteFailed(event: StreamEvent, members: Readonly<Record<string, string>>, bill: Bill): AnswerFrame {
    const inner = responseEdits(event.response!, { ...this.#own, set: { ...this.#own.set, ...members } }, bill);
    const type = typeOfEnd(members);
    const beside = { type: JSON.stringify(type), ...errorBeside(members) };
    const edits = [...this.#numberEdits(event, beside), ...inner].sort(byPlace);
    return { bytes: applyEdits(event.bytes, edits, FRAME), event: dataEvent(type, true) };
  }

  /** Returns the last event of a stream that broke off: the response as far as it is known, with the given fields. */
  broken(members: Readonly<Record<string, string>>, bill: Bill): AnswerFrame {
    const base = this.#snapshot ?? this.#ownResponse();
    const response = spliceMembers(base, {
      set: { ...members, output: Buffer.concat(this.#outputText()), usage: responseUsageText(bill) },
    });
    const { error } = errorBeside(members);
    const beside = error === undefined ? '' : `,"error":${error}`;
    return this.#event(typeOfEnd(members), `"response":${response.toString()}${beside}`, true);
  }

  #ownResponse(): Buffer {
    const echo = readEcho(this.#context, null);
    return Buffer.from(JSON.stringify(responseObject(echo, { status: 'in_progress', output: [] })));
  }

  #remember({ type, bytes, response, item }: StreamEvent, edits: readonly ByteEdit[]): void {
    if (response !== null && this.#snapshot === null) {
      const { members, closeBrace } = response;
      const start = bytes.lastIndexOf('{', members[0]?.keyStart ?? closeBrace);
      const moved = edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }));
      this.#snapshot = applyEdits(bytes.subarray(start, closeBrace + 1), moved);
    }
    if (type !== 'response.output_item.done' || item === null) return;
    const text = bytes.subarray(item.valueStart, item.valueEnd);
    this.#itemBytes += text.length;
    if (this.#itemBytes <= LARGEST_KEPT_OUTPUT) this.#items.push(Buffer.from(text));
  }

  #outputText(): Buffer[] {
    const comma = Buffer.from(',');
    const listed = this.#items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]));
    return [Buffer.from('['), ...listed, Buffer.from(']')];
  }

  /** Returns the edits that set our sequence number, if the upstream's differs, and other fields of the event. */
  #numberEdits({ bytes, sequence, ...event }: StreamEvent, set: Record<string, string>): ByteEdit[] {
    const number = String(this.#next);
    this.#next += 1;
    const isSame = sequence !== null && bytes.toString('latin1', sequence.valueStart, sequence.valueEnd) === number;
    const all = isSame ? set : { ...set, sequence_number: number };
    return memberEdits({ ...event, bytes }, { set: all });
  }

  #event(type: string, members: string, isBilled: boolean): AnswerFrame {
    const number = this.#next;
    this.#next += 1;
    return frameOf(`{"type":"${type}","sequence_number":${number},${members}}`, dataEvent(type, isBilled));
  }
}

/** Returns the type of the last event of a response with these fields. */
function typeOfEnd(members: Readonly<Record<string, string>>): string {
  return `response.${JSON.parse(members['status']!) as string}`;
}

/** Copies the error of a failed response into a field of the event, for clients that look only there. */
function errorBeside({ error }: Readonly<Record<string, string>>): { readonly error?: string } {
  return error === undefined || error === 'null' ? {} : { error };
}

function byPlace(a: ByteEdit, b: ByteEdit): number {
  return a.start - b.start;
}
