import type { KeptVideo } from '@libs/persistence';

/** If there are more videos than this, those that failed longest ago are dropped: they are downloaded again. */
const MOST_REMEMBERED = 10_000;

interface Finished {
  /** Null until all of them are stored. */
  readonly outputs: readonly KeptVideo[] | null;
  /** Number of consecutive failures. */
  readonly failures: number;
}

/** Videos that are finished at their providers but not yet stored here, as far as this process knows. */
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
