import { GatheredPieces } from '@libs/contracts';
import { isSpace } from '@libs/json';

/** As much as is read of an answer with a status of an error. */
const LARGEST_KEPT = 64 * 1024;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Keeps the body of a stream while it looks like JSON instead of events. Some upstreams answer a stream with status 200
 * and an error as JSON, which the caller must get as that error.
 */
export class UnframedBody {
  readonly #gathered = new GatheredPieces();
  #isKept = true;
  #hasBegun = false;

  add(chunk: Buffer): void {
    if (!this.#isKept) return;
    const first = this.#hasBegun ? undefined : chunk.find((byte) => !isSpace(byte));
    this.#hasBegun ||= first !== undefined;
    if (!this.#hasBegun) return;
    const isJson = first === undefined || first === BRACE || first === BRACKET;
    if (!isJson || this.#gathered.bytes + chunk.length > LARGEST_KEPT) this.drop();
    else this.#gathered.add(chunk);
  }

  /** Keeps nothing from here on: an event has come, or the body is something else. */
  drop(): void {
    this.#isKept = false;
    this.#gathered.clear();
  }

  /** Returns the whole body; null if it is empty or no JSON. */
  take(): Buffer | null {
    return this.#gathered.bytes === 0 ? null : this.#gathered.take();
  }
}
