import { failedUse, type ToolOutcome } from './server-tool';

const MEBIBYTE = 1_024 * 1_024;
/** Most bytes of results: of text for the model, and of pictures for the caller, who gets them in the answer. */
const MOST_OF_TURN = { text: 4 * MEBIBYTE, pictures: 32 * MEBIBYTE } as const;
const MOST_OF_REQUEST = { text: 8 * MEBIBYTE, pictures: 64 * MEBIBYTE } as const;

type Bytes = Readonly<Record<keyof typeof MOST_OF_TURN, number>>;

const NOTHING: Bytes = { text: 0, pictures: 0 };

/** Value of `stopped_by` in the metadata. */
export const RESULTS_TOO_LONG = 'tool_results_too_long';

/**
 * Limits the results of all tools of one turn and of one request. A result above the limit is left out, and no further
 * tool of the turn or request begins.
 */
export class ResultBounds {
  #turn = NOTHING;
  #request = NOTHING;
  #isTurnFull = false;
  #isFull = false;

  /** Whether the request may use no more tools. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Bytes of all pictures so far. */
  get pictureBytes(): number {
    return this.#request.pictures;
  }

  beginTurn(): void {
    this.#turn = NOTHING;
    this.#isTurnFull = this.#isFull;
  }

  /** Why no further tool may begin, as a sentence for the model; null if one may. */
  get refusal(): string | null {
    if (this.#isFull) return 'The results of this request are too long together. Answer with what is there.';
    return this.#isTurnFull ? 'The results of these calls are too long together. Ask for less at once.' : null;
  }

  /** Returns the outcome, or one without its results if they do not fit. Its cost is not changed. */
  admit(outcome: ToolOutcome): ToolOutcome {
    const bytes = bytesOf(outcome);
    const [turn, request] = [sum(this.#turn, bytes), sum(this.#request, bytes)];
    this.#isFull ||= exceeds(request, MOST_OF_REQUEST);
    this.#isTurnFull ||= this.#isFull || exceeds(turn, MOST_OF_TURN);
    if (exceeds(request, MOST_OF_REQUEST) || exceeds(turn, MOST_OF_TURN)) {
      return { ...failedUse(this.refusal!), tools: outcome.tools ?? [] };
    }
    this.#turn = turn;
    this.#request = request;
    return outcome;
  }
}

function bytesOf({ parts, images = [] }: ToolOutcome): Bytes {
  const texts = parts.map((part) => (part.type === 'text' ? Buffer.byteLength(part.text) : 0));
  return { text: total(texts), pictures: total(images.map(({ length }) => length)) };
}

function total(counts: readonly number[]): number {
  return counts.reduce((all, one) => all + one, 0);
}

function sum(one: Bytes, other: Bytes): Bytes {
  return { text: one.text + other.text, pictures: one.pictures + other.pictures };
}

function exceeds(bytes: Bytes, most: Bytes): boolean {
  return bytes.text > most.text || bytes.pictures > most.pictures;
}
