import type { JsonObject } from '@libs/json';
import type { AnswerEvent, TokenLogprob } from '../../model/canonical-answer';
import type { ReasoningPart } from '../../model/conversation';
import type { Piece } from './content-reader';
import { annotationsOf, sourcesOf } from './citations';
import { OWN_FORMAT, signatureThought } from './reasoning';

type OpenPart =
  | { readonly kind: 'thought'; readonly part: number; isSigned: boolean }
  | { readonly kind: 'text'; readonly part: number; text: string; signature: string | null };

/**
 * Turns pieces of a streamed answer into parts, one after the other: a chunk contains only what is new. Sources and
 * signature of a text may come in a later chunk, so they are sent when the text ends.
 */
export class PartSequence {
  #events: AnswerEvent[] = [];
  #open: OpenPart | null = null;
  #begun = 0;
  #sources: JsonObject | null = null;

  /** True if the answer so far has any content other than thoughts. */
  hasContent = false;
  hasCalls = false;

  /** The events since the last time. */
  take(): AnswerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  add(piece: Piece, logprobs?: readonly TokenLogprob[]): void {
    switch (piece.kind) {
      case 'text':
        return this.#text(piece.text, piece.signature, logprobs);
      case 'thought':
        return this.#thought(piece.text, piece.signature);
      case 'call':
        return this.#call(piece);
      case 'image':
        this.hasContent = true;
        this.#whole({ kind: 'generated-image', url: piece.url }, []);
        if (piece.signature !== undefined) this.#reasoning(signatureThought(piece.signature));
    }
  }

  /** Sets the sources of the text; each chunk with sources repeats all of them. */
  sources(chunk: JsonObject): void {
    this.#sources = chunk;
  }

  refusal(text: string): void {
    this.#endOpen();
    const part = this.#begin({ kind: 'refusal' });
    this.#events.push({ type: 'text-delta', part, text }, { type: 'part-end', part });
  }

  endAll(): void {
    this.#endOpen();
  }

  #text(text: string, signature: string | undefined, logprobs: readonly TokenLogprob[] | undefined): void {
    if (text !== '') {
      this.hasContent = true;
      const open = this.#openText();
      open.text += text;
      this.#events.push({ type: 'text-delta', part: open.part, text, ...(logprobs && { logprobs }) });
    }
    if (signature === undefined) return;
    if (this.#open?.kind === 'text' && this.#open.signature === null) this.#open.signature = signature;
    else this.#reasoning(signatureThought(signature));
  }

  /** Returns the open text; begins a new one after a signature, which ends the text that it signs. */
  #openText(): Extract<OpenPart, { kind: 'text' }> {
    if (this.#open?.kind === 'text' && this.#open.signature === null) return this.#open;
    this.#endOpen();
    const open = { kind: 'text' as const, part: this.#begin({ kind: 'text' }), text: '', signature: null };
    this.#open = open;
    return open;
  }

  #thought(text: string, signature: string | undefined): void {
    const isGoingOn = this.#open?.kind === 'thought' && !this.#open.isSigned;
    if (!isGoingOn) {
      this.#endOpen();
      this.#open = { kind: 'thought', part: this.#begin({ kind: 'reasoning' }), isSigned: false };
    }
    const open = this.#open as Extract<OpenPart, { kind: 'thought' }>;
    open.isSigned = signature !== undefined;
    const delta = { text, ...(signature !== undefined && { signature }), ...(!isGoingOn && { format: OWN_FORMAT }) };
    this.#events.push({ type: 'reasoning-delta', part: open.part, delta } as AnswerEvent);
  }

  #call({ id, name, arguments: text, signature }: Extract<Piece, { kind: 'call' }>): void {
    this.hasContent = true;
    this.hasCalls = true;
    if (signature !== undefined) this.#reasoning(signatureThought(signature, id));
    this.#whole({ kind: 'tool-call', id, name }, [
      { type: 'tool-arguments-delta', part: this.#begun, arguments: text },
    ]);
  }

  #reasoning({ type: _type, ...delta }: ReasoningPart): void {
    this.#whole({ kind: 'reasoning' }, [{ type: 'reasoning-delta', part: this.#begun, delta }]);
  }

  /** A part that comes in one piece. */
  #whole(start: NewPart, deltas: readonly AnswerEvent[]): void {
    this.#endOpen();
    const part = this.#begin(start);
    this.#events.push(...deltas.map((delta) => ({ ...delta, part })), { type: 'part-end', part });
  }

  #begin(start: NewPart): number {
    const part = this.#begun;
    this.#begun += 1;
    this.#events.push({ type: 'part-start', part, ...start } as AnswerEvent);
    return part;
  }

  #endOpen(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    if (open.kind === 'text') this.#cite(open.part, open.text);
    this.#events.push({ type: 'part-end', part: open.part });
    if (open.kind === 'text' && open.signature !== null) this.#reasoning(signatureThought(open.signature));
  }

  #cite(part: number, text: string): void {
    if (this.#sources === null) return;
    const annotations = annotationsOf(sourcesOf(this.#sources), text);
    this.#sources = null;
    for (const annotation of annotations) this.#events.push({ type: 'annotation', part, annotation });
  }
}

type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
/** `PartStart` without its number; each kind has its own fields. */
type NewPart = PartStart extends infer Start ? (Start extends PartStart ? Omit<Start, 'part' | 'type'> : never) : never;
