import type { AnswerEvent, ReasoningDelta, TokenLogprob } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';

type Opening =
  | { readonly kind: 'text' | 'refusal' | 'reasoning' }
  | { readonly kind: 'tool-call'; readonly id: string; readonly name: string }
  | { readonly kind: 'generated-image'; readonly url: string };

interface OpenPart {
  readonly part: number;
  readonly kind: Opening['kind'];
  /** Number of characters of text or arguments that have been emitted so far. */
  length: number;
  readonly sections: { text: number | null; summary: number | null };
  hasEnded: boolean;
}

/**
 * Numbers the parts of a streamed answer and counts how much of each has been emitted. Keys are the upstream's
 * positions.
 */
export class PartLedger {
  readonly #parts = new Map<string, OpenPart>();

  /** Begins the part, unless it has begun. */
  begin(key: string, opening: Opening): AnswerEvent[] {
    if (this.#parts.has(key)) return [];
    const part = this.#parts.size;
    const sections = { text: null, summary: null };
    this.#parts.set(key, { part, kind: opening.kind, length: 0, sections, hasEnded: false });
    return [{ type: 'part-start', part, ...opening }];
  }

  text(key: string, kind: 'text' | 'refusal', text: string, logprobs: readonly TokenLogprob[]): AnswerEvent[] {
    const begun = this.begin(key, { kind });
    const open = this.#parts.get(key)!;
    if (text === '' || open.hasEnded) return begun;
    open.length += text.length;
    const more = logprobs.length > 0 ? { logprobs } : {};
    return [...begun, { type: 'text-delta', part: open.part, text, ...more }];
  }

  annotation(key: string, annotation: Annotation): AnswerEvent[] {
    const begun = this.begin(key, { kind: 'text' });
    return [...begun, { type: 'annotation', part: this.#parts.get(key)!.part, annotation }];
  }

  /** Returns no event for arguments of a call that has not begun, because its id and name are not known yet. */
  arguments(key: string, text: string): AnswerEvent[] {
    const open = this.#parts.get(key);
    if (open?.kind !== 'tool-call' || open.hasEnded || text === '') return [];
    open.length += text.length;
    return [{ type: 'tool-arguments-delta', part: open.part, arguments: text }];
  }

  reasoning(key: string, delta: ReasoningDelta): AnswerEvent[] {
    const begun = this.begin(key, { kind: 'reasoning' });
    const open = this.#parts.get(key)!;
    if (Object.keys(delta).length === 0 || open.hasEnded) return begun;
    if (delta.text !== undefined) open.sections.text ??= 0;
    if (delta.summary !== undefined) open.sections.summary ??= 0;
    return [...begun, { type: 'reasoning-delta', part: open.part, delta }];
  }

  /** Returns whether a thought continues in another section than before, and stores the section. */
  isNewSection(key: string, kind: 'text' | 'summary', index: number): boolean {
    const sections = this.#parts.get(key)?.sections;
    if (sections === undefined) return false;
    const isNew = sections[kind] !== null && sections[kind] !== index;
    sections[kind] = index;
    return isNew;
  }

  hasThought(key: string, kind: 'text' | 'summary'): boolean {
    return (this.#parts.get(key)?.sections[kind] ?? null) !== null;
  }

  /** Returns the rest of the whole text or arguments that has not been emitted yet. */
  restOf(key: string, whole: string): string {
    return whole.slice(this.#parts.get(key)?.length ?? 0);
  }

  hasBegun(key: string): boolean {
    return this.#parts.has(key);
  }

  hasEnded(key: string): boolean {
    return this.#parts.get(key)?.hasEnded === true;
  }

  end(key: string): AnswerEvent[] {
    const open = this.#parts.get(key);
    if (open === undefined || open.hasEnded) return [];
    open.hasEnded = true;
    return [{ type: 'part-end', part: open.part }];
  }

  endAll(): AnswerEvent[] {
    return [...this.#parts.keys()].flatMap((key) => this.end(key));
  }
}
