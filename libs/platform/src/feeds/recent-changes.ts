const MOST_SUBJECTS = 10_000;

/**
 * The last applied changes, numbered in the order in which this process learnt of them. An answer is stored only if
 * none of its subjects changed since its request, because its owner may have read the row before the change.
 */
export class RecentChanges {
  /** Number of the last change by subject, the oldest first. */
  readonly #last = new Map<string, number>();
  #count = 0;
  /** The subjects of changes up to this number are no longer known. */
  #unknownUpTo = 0;

  /** How many there were. */
  get count(): number {
    return this.#count;
  }

  add(subjects: readonly string[]): void {
    this.#count += 1;
    for (const subject of subjects) {
      this.#last.delete(subject);
      this.#last.set(subject, this.#count);
    }
    for (const [subject, number] of this.#last) {
      if (this.#last.size <= MOST_SUBJECTS) break;
      this.#last.delete(subject);
      this.#unknownUpTo = number;
    }
  }

  /** Anything may have changed. */
  addUnknown(): void {
    this.#count += 1;
    this.#unknownUpTo = this.#count;
    this.#last.clear();
  }

  /** Returns whether none of the subjects has changed, or may have changed, after change number `count`. */
  areUnchangedSince(count: number, subjects: readonly string[]): boolean {
    if (count < this.#unknownUpTo) return false;
    return subjects.every((subject) => (this.#last.get(subject) ?? 0) <= count);
  }
}
