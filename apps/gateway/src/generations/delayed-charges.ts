import type { LoggerService } from '@nestjs/common';
import { storeApart, type DelayedChargesRepository, type GenerationSettlement } from '@libs/persistence';
import { counter } from '@libs/platform';

/** A charge that was not committed in this time is written down. */
const PATIENCE_MS = 200;
const LOOK_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const MOST_ROWS = 500;

const delayed = counter({
  name: 'sluice_generations_delayed_total',
  help: 'Charges that were written down because they could not be committed at once',
});

interface Waiting {
  readonly charge: GenerationSettlement;
  readonly sinceMs: number;
}

/**
 * Writes down charges that wait for long, for a lock or for a slow commit, so that they outlive the process:
 * `DelayedSweep` of any gateway commits them. Nothing waits for this. What was written down is removed once the charge
 * is committed.
 */
export class DelayedCharges {
  /** Charges that are not written down, the oldest first. */
  private readonly waiting = new Map<string, Waiting>();
  private readonly written = new Set<string>();
  /** Ids of charges that are written down and committed. */
  private readonly over = new Set<string>();
  private timer: NodeJS.Timeout | null = null;
  private failures = 0;

  constructor(
    private readonly repository: Pick<DelayedChargesRepository, 'keep' | 'remove'>,
    private readonly logger: LoggerService,
  ) {}

  /** The charge is to be committed. Adding it again changes nothing. */
  add(charge: GenerationSettlement): void {
    if (this.waiting.has(charge.id) || this.written.has(charge.id)) return;
    this.waiting.set(charge.id, { charge, sinceMs: performance.now() });
    this.arrange();
  }

  /** The charge is committed, or finally refused. */
  done({ id }: GenerationSettlement): void {
    if (this.waiting.delete(id) || !this.written.delete(id)) return;
    this.over.add(id);
    this.arrange();
  }

  private arrange(): void {
    this.timer ??= setTimeout(() => void this.look(), Math.min(LONGEST_PAUSE_MS, LOOK_MS * 2 ** this.failures));
  }

  private async look(): Promise<void> {
    try {
      for (let late = this.late(); late.length + this.over.size > 0; late = this.late()) {
        await Promise.all([this.keep(late), this.remove([...this.over].slice(0, MOST_ROWS))]);
      }
      this.failures = 0;
    } catch (error) {
      // Logged once per outage, because a line for every look would add nothing.
      if (this.failures === 0) this.logger.error('Delayed charges cannot be written down', { err: error });
      this.failures = Math.min(this.failures + 1, 10);
    }
    this.timer = null;
    if (this.waiting.size + this.over.size > 0) this.arrange();
  }

  private late(): GenerationSettlement[] {
    const sinceMs = performance.now() - PATIENCE_MS;
    const late: GenerationSettlement[] = [];
    for (const waiting of this.waiting.values()) {
      if (waiting.sinceMs > sinceMs || late.length === MOST_ROWS) break;
      late.push(waiting.charge);
    }
    return late;
  }

  private async keep(charges: readonly GenerationSettlement[]): Promise<void> {
    const { stored, refused, stuck, failed } = await storeApart(charges, (some) => this.repository.keep(some));
    for (const { rows } of stored) {
      delayed.inc(rows.length);
      // A charge that is no longer here was committed meanwhile.
      for (const { id } of rows) (this.waiting.delete(id) ? this.written : this.over).add(id);
    }
    for (const { row, error } of refused) {
      this.waiting.delete(row.id);
      this.logger.error('A delayed charge stays in memory', { err: error, generationId: row.id });
    }
    const error = failed?.error ?? stuck[0]?.error ?? null;
    if (error !== null) throw error;
  }

  private async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.repository.remove(ids);
    for (const id of ids) this.over.delete(id);
  }
}
