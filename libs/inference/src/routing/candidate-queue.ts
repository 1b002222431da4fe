import type { Candidate } from './planned-route';

/** Most endpoints of one model that a request tries. */
const MOST_ATTEMPTS = 3;

/**
 * Returns the candidates of a plan one after the other, at most three of each model: a request that names further
 * models wants them to be tried, however many endpoints the first one has.
 */
export class CandidateQueue {
  /** Number of attempts by model slug. */
  readonly #attempts = new Map<string, number>();
  #position = 0;

  constructor(private readonly plan: readonly Candidate[]) {}

  /** Returns the next candidate to try, or null if none is left. */
  next(): Candidate | null {
    while (this.#position < this.plan.length) {
      const candidate = this.plan[this.#position]!;
      this.#position += 1;
      if (this.#isOpen(candidate)) return candidate;
    }
    return null;
  }

  tried({ model: { slug } }: Candidate): void {
    this.#attempts.set(slug, (this.#attempts.get(slug) ?? 0) + 1);
  }

  /** Notes that no provider of the candidate's model can serve this request. */
  refused({ model: { slug } }: Candidate): void {
    this.#attempts.set(slug, MOST_ATTEMPTS);
  }

  /** Returns whether a candidate of another model is left. */
  hasOtherModel({ model }: Candidate): boolean {
    for (let index = this.#position; index < this.plan.length; index += 1) {
      const candidate = this.plan[index]!;
      if (candidate.model.slug !== model.slug && this.#isOpen(candidate)) return true;
    }
    return false;
  }

  #isOpen({ model: { slug } }: Candidate): boolean {
    return (this.#attempts.get(slug) ?? 0) < MOST_ATTEMPTS;
  }
}
