import type { KeptVideo } from '@libs/persistence';

/** When more are remembered than this, those that failed longest ago are forgotten: they are fetched again. */
const MOST_REMEMBERED = 10_000;

interface Finished {
  /** Null while they are not all stored. */
  readonly outputs: readonly KeptVideo[] | null;
  /** In a row. */
  readonly failures: number;
}

/** What this process remembers of videos that are finished at their providers and not yet here. */
export class FinishedVideos {
  private readonly byId = new Map<string, Finished>();

  /** The copies that are stored already: only the commit failed. */
  outputsOf(id: string): readonly KeptVideo[] | null {
    return this.byId.get(id)?.outputs ?? null;
  }

  stored(id: string, outputs: readonly KeptVideo[]): void {
    this.remember(id, { outputs, failures: 0 });
  }

  /** Returns how many failures there were before. */
  failed(id: string): number {
    const { outputs, failures } = this.byId.get(id) ?? { outputs: null, failures: 0 };
    this.remember(id, { outputs, failures: failures + 1 });
    return failures;
  }

  forget(id: string): void {
    this.byId.delete(id);
  }

  private remember(id: string, finished: Finished): void {
    this.byId.delete(id);
    this.byId.set(id, finished);
    for (const [oldest] of this.byId) {
      if (this.byId.size <= MOST_REMEMBERED) return;
      this.byId.delete(oldest);
    }
  }
}
