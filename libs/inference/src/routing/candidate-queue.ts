import type { Candidate } from './planned-route';

/** Endpoints of one model that a request tries. */
const MOST_ATTEMPTS = 3;

/**
 * The candidates of a plan, handed out in their order. At most three of one model are: a request that names other
 * models names them for when the first does not serve, however many endpoints that one has.
 */
export class CandidateQueue {
  /** By the slug of the model. */
  readonly #attempts = new Map<string, number>();
  #position = 0;

  constructor(private readonly plan: readonly Candidate[]) {}

  /** The next one to be tried, or null when there is none. */
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

  /** Whether another model than the candidate's is still there. */
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
