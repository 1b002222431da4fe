const MAXIMUM_HASHES = 500_000;

/** Counts by key, for at most `maximum` keys: the oldest key is dropped, and the drop is counted. */
export class BoundedCounts {
  private readonly counts = new Map<string, number>();
  evicted = 0;

  constructor(private readonly maximum: number = MAXIMUM_HASHES) {}

  /** Counts one more and returns the new count. */
  add(key: string): number {
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    if (count === 1 && this.counts.size > this.maximum) {
      const oldest = this.counts.keys().next();
      if (!oldest.done) this.counts.delete(oldest.value);
      this.evicted += 1;
    }
    return count;
  }

  get(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  /** How many keys were counted more than once. */
  repeated(): number {
    let repeated = 0;
    for (const count of this.counts.values()) if (count > 1) repeated += 1;
    return repeated;
  }

  clear(): void {
    this.counts.clear();
    this.evicted = 0;
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.counts);
  }
}

/** The answer of `GET /sandbox/calls`. */
export interface CallsSnapshot {
  readonly total: number;
  /** Calls per method and path pattern, for instance `POST /v1/chat/completions`. */
  readonly by_route: Record<string, number>;
  readonly recording: boolean;
  /** Inference calls, batch lines included, per SHA-256 of the body (64 hex characters). */
  readonly by_body: Record<string, number>;
  /** Number of answers by hash of the last user message: the 12 hex characters that the answer contains. */
  readonly by_prompt: Record<string, number>;
  readonly repeated_bodies: number;
  readonly repeated_prompts: number;
  /** Keys forgotten because the bound was reached: while it is 0 the two maps are complete. */
  readonly evicted: number;
}

/** Counts the calls that reached the provider, so that a test knows how often a request was really sent. */
export class CallCounts {
  private readonly byRoute = new Map<string, number>();
  private readonly byBody = new BoundedCounts();
  private readonly byPrompt = new BoundedCounts();

  constructor(readonly recording: boolean) {}

  countRoute(name: string): void {
    this.byRoute.set(name, (this.byRoute.get(name) ?? 0) + 1);
  }

  countBody(hash: string): void {
    if (this.recording) this.byBody.add(hash);
  }

  countPrompt(hash: string): void {
    if (this.recording) this.byPrompt.add(hash);
  }

  reset(): void {
    this.byRoute.clear();
    this.byBody.clear();
    this.byPrompt.clear();
  }

  snapshot(): CallsSnapshot {
    let total = 0;
    for (const count of this.byRoute.values()) total += count;
    return {
      total,
      by_route: Object.fromEntries(this.byRoute),
      recording: this.recording,
      by_body: this.byBody.toJSON(),
      by_prompt: this.byPrompt.toJSON(),
      repeated_bodies: this.byBody.repeated(),
      repeated_prompts: this.byPrompt.repeated(),
      evicted: this.byBody.evicted + this.byPrompt.evicted,
    };
  }
}
