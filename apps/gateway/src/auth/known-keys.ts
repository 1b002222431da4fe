import { hashApiKey, readApiKeyKind } from '@libs/contracts';

const GENERATION_MS = 5_000;
const MOST_PER_GENERATION = 5_000;

/**
 * Remembers the hashes of keys that were checked a moment ago, so that the key of a caller with many requests is
 * checked and hashed once in a while and not for each of them. It decides nothing: the key record of a hash is looked
 * up every time.
 *
 * Keys are in this memory no longer than ten seconds after their last use, and only those of the right form.
 */
export class KnownKeys {
  // Private to the language: neither inspection nor JSON shows what is in here.
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngSinceMs: number;
  readonly #nowMs: () => number;

  constructor(monotonicNowMs: () => number = () => performance.now()) {
    this.#nowMs = monotonicNowMs;
    this.#youngSinceMs = monotonicNowMs();
  }

  /** SHA-256 of a key in lower-case hex, or null for text that was never minted as one. */
  hashOf(key: string): string | null {
    this.#age();
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const hash = this.#old.get(key) ?? (readApiKeyKind(key) === null ? null : hashApiKey(key));
    if (hash !== null) this.#young.set(key, hash);
    return hash;
  }

  #age(): void {
    const nowMs = this.#nowMs();
    const ageMs = nowMs - this.#youngSinceMs;
    if (ageMs < GENERATION_MS && this.#young.size < MOST_PER_GENERATION) return;
    this.#old = ageMs < 2 * GENERATION_MS ? this.#young : new Map();
    this.#young = new Map();
    this.#youngSinceMs = nowMs;
  }
}
