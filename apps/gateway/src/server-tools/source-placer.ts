import { citedSpan, spanOf, type AnswerEvent, type AnswerSource } from '@libs/inference';

interface Text {
  readonly part: number;
  text: string;
  hasEnded: boolean;
}

/**
 * Attaches the sources that tools have found to the texts written after them. A source whose URL is in a text is cited
 * at that position; any other source is cited for the whole of the last text.
 */
export class SourcePlacer {
  readonly #known = new Set<string>();
  #waiting: readonly AnswerSource[] = [];
  /** The text that is being written, or the last one, whose end event is held back. */
  #text: Text | null = null;

  add(sources: readonly AnswerSource[]): void {
    for (const source of sources) {
      if (this.#known.has(source.url)) continue;
      this.#known.add(source.url);
      this.#waiting = [...this.#waiting, source];
    }
  }

  /** Returns the events that replace this one. The end of a text is held back until the next event is known. */
  pass(event: AnswerEvent): readonly AnswerEvent[] {
    const text = this.#text;
    if (text === null) return this.#begin(event);
    if ('part' in event && event.part === text.part) return this.#passOwn(text, event);
    return text.hasEnded ? [...this.#close(false), ...this.#begin(event)] : [event];
  }

  /** Ends a turn; after the last one no more text follows. */
  endTurn(isLast: boolean): readonly AnswerEvent[] {
    return this.#text === null ? [] : this.#close(isLast);
  }

  #begin(event: AnswerEvent): readonly AnswerEvent[] {
    const isText = event.type === 'part-start' && event.kind === 'text';
    if (isText && this.#waiting.length > 0) this.#text = { part: event.part, text: '', hasEnded: false };
    return [event];
  }

  #passOwn(text: Text, event: AnswerEvent): readonly AnswerEvent[] {
    if (event.type === 'text-delta') text.text += event.text;
    if (event.type !== 'part-end') return [event];
    text.hasEnded = true;
    return [];
  }

  #close(isLast: boolean): AnswerEvent[] {
    const { part, text, hasEnded } = this.#text!;
    this.#text = null;
    const events: AnswerEvent[] = [];
    const left: AnswerSource[] = [];
    for (const source of this.#waiting) {
      const span = isLast ? citedSpan(source, text) : spanOf(source.url, text);
      if (span === null) left.push(source);
      else events.push({ type: 'annotation', part, annotation: { ...source, ...span } });
    }
    this.#waiting = left;
    if (hasEnded) events.push({ type: 'part-end', part });
    return events;
  }
}
