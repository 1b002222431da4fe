import type { LoggerService } from '@nestjs/common';
import { storeApart, type DelayedChargesRepository, type GenerationSettlement } from '@libs/persistence';
import { counter } from '@libs/platform';

/** A charge that is not committed at the second look after it came is written down: after one to two such pauses. */
const LOOK_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const MOST_ROWS = 500;

const delayed = counter({
  name: 'sluice_generations_delayed_total',
  help: 'Charges that were written down because they could not be committed at once',
});

/**
 * Writes down charges that wait for long, for a lock or for a slow commit, so that they outlive the process:
 * `DelayedSweep` of any gateway commits them. Nothing waits for this. What was written down is removed once the charge
 * is committed.
 */
export class DelayedCharges {
  /** Charges that are not written down: since the last look, and from before. */
  private young = new Map<string, GenerationSettlement>();
  private readonly old = new Map<string, GenerationSettlement>();
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
    if (this.old.has(charge.id) || this.written.has(charge.id)) return;
    this.young.set(charge.id, charge);
    this.arrange();
  }

  /** The charge is committed, or finally refused. */
  done({ id }: GenerationSettlement): void {
    if (this.young.delete(id) || this.old.delete(id) || !this.written.delete(id)) return;
    this.over.add(id);
    this.arrange();
  }

  private arrange(): void {
    this.timer ??= setTimeout(() => void this.look(), Math.min(LONGEST_PAUSE_MS, LOOK_MS * 2 ** this.failures));
  }

  private async look(): Promise<void> {
    try {
      while (this.old.size > 0) await this.keep([...this.old.values()].slice(0, MOST_ROWS));
      while (this.over.size > 0) await this.remove([...this.over].slice(0, MOST_ROWS));
      this.failures = 0;
    } catch (error) {
      // Logged once per outage, because a line for every look would add nothing.
      if (this.failures === 0) this.logger.error('Delayed charges cannot be written down', { err: error });
      this.failures = Math.min(this.failures + 1, 10);
    }
    for (const [id, charge] of this.young) this.old.set(id, charge);
    this.young = new Map();
    this.timer = null;
    if (this.old.size + this.over.size > 0) this.arrange();
  }

  private async keep(charges: readonly GenerationSettlement[]): Promise<void> {
    const { stored, refused, stuck, failed } = await storeApart(charges, (some) => this.repository.keep(some));
    for (const { rows } of stored) {
      delayed.inc(rows.length);
      // A charge that is no longer here was committed meanwhile.
      for (const { id } of rows) (this.old.delete(id) ? this.written : this.over).add(id);
    }
    for (const { row, error } of refused) {
      this.old.delete(row.id);
      this.logger.error('A delayed charge stays in memory', { err: error, generationId: row.id });
    }
    const error = failed?.error ?? stuck[0]?.error ?? null;
    if (error !== null) throw error;
  }

  private async remove(ids: readonly string[]): Promise<void> {
    await this.repository.remove(ids);
    for (const id of ids) this.over.delete(id);
  }
}
