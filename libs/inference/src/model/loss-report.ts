/** What a translation between two dialects could not carry. Members are named as the caller spelled them. */
export interface LossReport {
  /** Left out. */
  readonly dropped: readonly string[];
  /** Carried by something near it, e.g. an effort turned into a budget of tokens. */
  readonly approximated: readonly string[];
}

export const NO_LOSS: LossReport = { dropped: [], approximated: [] };

/** Gathers losses while a request is read and written; a member is named once. */
export class LossLog {
  /** Null while nothing is lost, as of most requests. */
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
