import type { ChangeFeed, ChangeListener } from '../change-feed';

/** A feed that says what the test says, by the clock of the test. */
export class ManualFeed implements ChangeFeed {
  confirmedAtMs = Number.NEGATIVE_INFINITY;
  away = false;
  freshForMs = 750;
  #settling = Promise.withResolvers<void>();
  readonly #changes: (readonly string[] | null)[] = [];
  readonly #listeners: ChangeListener[] = [];
  readonly #awayListeners: (() => void)[] = [];

  isFresh(nowMs: number): boolean {
    return nowMs - this.confirmedAtMs < this.freshForMs;
  }

  isAway(nowMs: number): boolean {
    return this.away && !this.isFresh(nowMs);
  }

  settled(): Promise<void> {
    return this.#settling.promise;
  }

  moment(): number {
    return this.#changes.length;
  }

  isUnchangedSince(moment: number, subjects: readonly string[]): boolean {
    const since = this.#changes.slice(moment);
    return since.every((changed) => changed !== null && !changed.some((subject) => subjects.includes(subject)));
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  onAway(listener: () => void): void {
    this.#awayListeners.push(listener);
  }

  /** Everything that was known when this was asked may be used. */
  confirm(atMs: number): void {
    this.confirmedAtMs = atMs;
    this.away = false;
    this.#settle();
  }

  /** Its owner cannot be asked. */
  lose(): void {
    this.away = true;
    for (const listener of this.#awayListeners) listener();
    this.#settle();
  }

  change(...subjects: readonly string[]): void {
    this.#tell(subjects);
  }

  forgetAll(): void {
    this.#tell(null);
  }

  #tell(subjects: readonly string[] | null): void {
    this.#changes.push(subjects);
    for (const listener of this.#listeners) listener(subjects);
  }

  #settle(): void {
    this.#settling.resolve();
    this.#settling = Promise.withResolvers<void>();
  }
}
