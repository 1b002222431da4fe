/** Fields that a translation between two dialects lost, by their names in the caller's API. */
export interface LossReport {
  /** Left out. */
  readonly dropped: readonly string[];
  /** Fields that were sent in a similar form, e.g. an effort as a budget of tokens. */
  readonly approximated: readonly string[];
}

export const NO_LOSS: LossReport = { dropped: [], approximated: [] };

/** Collects losses while a request is read and written; lists each field only once. */
export class LossLog {
  /** Null while nothing is lost, which is true of most requests. */
  private lost: { readonly dropped: Set<string>; readonly approximated: Set<string> } | null = null;

  drop(member: string): void {
    const { dropped, approximated } = this.begun();
    dropped.add(member);
    approximated.delete(member);
  }

  approximate(member: string): void {
    const { dropped, approximated } = this.begun();
    if (!dropped.has(member)) approximated.add(member);
  }

  report(): LossReport {
    if (this.lost === null) return NO_LOSS;
    return { dropped: [...this.lost.dropped], approximated: [...this.lost.approximated] };
  }

  private begun(): { readonly dropped: Set<string>; readonly approximated: Set<string> } {
    return (this.lost ??= { dropped: new Set(), approximated: new Set() });
  }
}
