import { hashApiKey, readApiKeyKind } from '@libs/contracts';

const GENERATION_MS = 5_000;
const MOST_PER_GENERATION = 5_000;

/**
 * Caches the hashes of recently checked keys, so that the key of a caller with many requests is checked and hashed only
 * now and then. It grants no access: the key record of a hash is looked up every time.
 *
 * Keeps keys in memory for at most ten seconds after their last use, and only keys of valid form.
 */
export class KnownKeys {
  // A JavaScript private field, so that neither inspection nor JSON shows its content.
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngSinceMs: number;
  readonly #nowMs: () => number;

  constructor(monotonicNowMs: () => number = () => performance.now()) {
    this.#nowMs = monotonicNowMs;
    this.#youngSinceMs = monotonicNowMs();
  }

  /** Returns the SHA-256 of a key in lower-case hex; null for text that does not have the form of a key. */
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
