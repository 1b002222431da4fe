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
  private readonly dropped = new Set<string>();
  private readonly approximated = new Set<string>();

  drop(member: string): void {
    this.dropped.add(member);
    this.approximated.delete(member);
  }

  approximate(member: string): void {
    if (!this.dropped.has(member)) this.approximated.add(member);
  }

  report(): LossReport {
    if (this.dropped.size + this.approximated.size === 0) return NO_LOSS;
    return { dropped: [...this.dropped], approximated: [...this.approximated] };
  }
}
