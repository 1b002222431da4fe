import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { LastUsesRepository } from './last-uses.repository';

const FLUSH_AFTER_MS = 60_000;
/** Most keys and credentials between two writes. Further ones are left out until the next write. */
const MOST_SUBJECTS = 20_000;

interface NotedUse {
  readonly organizationId: string;
  atMs: number;
}

/**
 * Records when keys and credentials are used, at almost no cost: in memory, and in one statement at most once a minute.
 * What a process recorded in the last minute is lost if it dies.
 */
@Injectable()
export class LastUses implements OnModuleDestroy {
  private readonly logger = new Logger(LastUses.name);
  private noted = new Map<string, NotedUse>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly repository: Pick<LastUsesRepository, 'storeUses'>,
    private readonly flushAfterMs = FLUSH_AFTER_MS,
  ) {}

  /** @param subject hash of a key, or id of a credential */
  note(organizationId: string, subject: string): void {
    const atMs = performance.now();
    const known = this.noted.get(subject);
    if (known !== undefined) known.atMs = atMs;
    else if (this.noted.size < MOST_SUBJECTS) this.begin(subject, { organizationId, atMs });
  }

  /** Writes the recorded uses. If the database is unavailable they are kept for the next time. Never throws. */
  flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    return (this.writing = this.writing.then(() => this.write()));
  }

  onModuleDestroy(): Promise<void> {
    return this.flush();
  }

  /** There is a timer only while something waits to be written. */
  private begin(subject: string, use: NotedUse): void {
    this.noted.set(subject, use);
    this.timer ??= setTimeout(() => void this.flush(), this.flushAfterMs).unref();
  }

  private async write(): Promise<void> {
    const uses = this.noted;
    if (uses.size === 0) return;
    this.noted = new Map();
    const nowMs = performance.now();
    try {
      await this.repository.storeUses(
        [...uses].map(([subject, { organizationId, atMs }]) => ({ subject, organizationId, ageMs: nowMs - atMs })),
      );
    } catch (error) {
      this.logger.warn('Last uses of keys could not be written and are tried again', { err: error });
      for (const [subject, use] of uses) {
        if (!this.noted.has(subject) && this.noted.size < MOST_SUBJECTS) this.begin(subject, use);
      }
    }
  }
}
