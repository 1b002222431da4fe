import type { AnswerEvent, TokenLogprob } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import { shifted } from './citations';
import type { CallPiece } from './call-numbers';
import { CallPieces } from './call-pieces';
import { Thought, type ThoughtPiece } from './reasoning';

type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
/** `PartStart` without its number; each kind has its own fields. */
type NewPart = PartStart extends infer Start ? (Start extends PartStart ? Omit<Start, 'part' | 'type'> : never) : never;

/**
 * Turns pieces of an answer into parts, one after the other: a chunk of the protocol contains only what is new and does
 * not mark the end of a text or a thought.
 */
export class PartSequence {
  readonly #calls: CallPieces;
  #events: AnswerEvent[] = [];
  #open: { readonly part: number; readonly kind: PartStart['kind'] } | null = null;
  #thought: Thought | null = null;
  #begun = 0;
  /** Start of the open text in the answer's text; `#textLength` is the length of all text so far. */
  #textStart = 0;
  #textLength = 0;

  constructor(onBroken: (reason: string) => never) {
    this.#calls = new CallPieces({
      onTurn: ({ id, name }) => this.#begin({ kind: 'tool-call', id, name }),
      onText: (text) => this.#push({ type: 'tool-arguments-delta', part: this.#part, arguments: text }),
      onBroken,
    });
  }

  /** Length of the calls that wait for their turn. */
  get heldCharacters(): number {
    return this.#calls.heldCharacters;
  }

  /** The events since the last time. */
  take(): AnswerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  text(kind: 'text' | 'refusal', text: string, logprobs?: readonly TokenLogprob[]): void {
    this.#continue(kind);
    if (kind === 'text') this.#textLength += text.length;
    this.#push({ type: 'text-delta', part: this.#part, text, ...(logprobs && { logprobs }) });
  }

  /** Adds an annotation, whose offsets count from the start of all text. */
  annotation(annotation: Annotation): void {
    this.#continue('text');
    const moved = shifted(annotation, -this.#textStart);
    const [startIndex, endIndex] = [Math.max(0, moved.startIndex), Math.max(0, moved.endIndex)];
    this.#push({ type: 'annotation', part: this.#part, annotation: { ...moved, startIndex, endIndex } });
  }

  thought(piece: ThoughtPiece): void {
    if (this.#open?.kind !== 'reasoning' || !this.#thought?.isContinuedBy(piece)) {
      this.#calls.flush();
      this.#begin({ kind: 'reasoning' });
      this.#thought = new Thought(piece.key);
    }
    this.#push({ type: 'reasoning-delta', part: this.#part, delta: this.#thought!.add(piece.delta) });
  }

  image(url: string): void {
    this.#calls.flush();
    this.#begin({ kind: 'generated-image', url });
    this.#end();
  }

  call(piece: CallPiece): void {
    this.#calls.push(piece);
  }

  endAll(): void {
    this.#calls.flush();
    this.#end();
  }

  #continue(kind: 'text' | 'refusal'): void {
    if (this.#open?.kind === kind) return;
    this.#calls.flush();
    this.#begin({ kind });
    this.#textStart = this.#textLength;
  }

  #begin(start: NewPart): void {
    this.#end();
    const part = this.#begun;
    this.#begun += 1;
    this.#open = { part, kind: start.kind };
    this.#push({ type: 'part-start', part, ...start } as PartStart);
  }

  #end(): void {
    if (this.#open === null) return;
    this.#push({ type: 'part-end', part: this.#open.part });
    this.#open = null;
  }

  #push(event: AnswerEvent): void {
    this.#events.push(event);
  }

  get #part(): number {
    return this.#open!.part;
  }
}
