import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { AuditRepository, type NewAuditEntry } from '@libs/persistence';

const MINUTE_MS = 60_000;
/**
 * Most entries per minute that one process writes for the refused calls of one organization; below, of all
 * organizations.
 */
const MOST_OF_ORGANIZATION = 30;
const MOST = 300;
/**
 * Most organizations whose calls are counted separately in a minute; calls of further ones are logged as one number.
 */
const MOST_ORGANIZATIONS = 1_000;
const FORBIDDEN = 403;

/** Refused calls of one organization in one minute. */
interface Refused {
  written: number;
  leftOut: number;
  last: NewAuditEntry;
}

/**
 * Records calls that are refused before the audit interceptor sees them: with a key that may not make them (an API key
 * for management, a management key for inference), or with a body that management does not accept. Such calls do
 * nothing, so their entries are written in the background, and repeated attempts fill neither the trail nor the memory.
 * The number of omitted entries is written at the end of each minute, so that no call is hidden.
 */
@Injectable()
export class RefusedCalls implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RefusedCalls.name);
  private readonly organizations = new Map<string, Refused>();
  private minute = -1;
  private total = 0;
  private uncounted = 0;
  private end: NodeJS.Timeout | undefined;

  constructor(private readonly audit: AuditRepository) {}

  /** Writes the entry, or only counts it if there were too many in this minute. */
  note(entry: NewAuditEntry, status = FORBIDDEN, nowMs = performance.now()): void {
    this.beginMinute(nowMs);
    const refused = this.refusedOf(entry);
    if (refused === null) {
      this.uncounted += 1;
      return;
    }
    refused.last = entry;
    if (this.total >= MOST || refused.written >= MOST_OF_ORGANIZATION) {
      refused.leftOut += 1;
      return;
    }
    refused.written += 1;
    this.total += 1;
    void this.write(entry, status);
  }

  /** Writes the counts of the current minute. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.endMinute();
  }

  private beginMinute(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.minute) return;
    void this.endMinute();
    this.minute = minute;
    this.end = setTimeout(() => void this.endMinute(), MINUTE_MS - (nowMs % MINUTE_MS)).unref();
  }

  private async endMinute(): Promise<void> {
    clearTimeout(this.end);
    const ended = [...this.organizations.values()].filter(({ leftOut }) => leftOut > 0);
    const uncounted = this.uncounted;
    this.minute = -1;
    this.total = 0;
    this.uncounted = 0;
    this.organizations.clear();
    if (uncounted > 0) this.logger.warn('Refused calls were left out of the audit trail', { calls: uncounted });
    for (const { leftOut, last } of ended) {
      await this.write({ ...last, action: `refused calls left out: ${leftOut}`, target: null }, FORBIDDEN);
    }
  }

  private refusedOf(entry: NewAuditEntry): Refused | null {
    const known = this.organizations.get(entry.organizationId);
    if (known !== undefined) return known;
    if (this.organizations.size >= MOST_ORGANIZATIONS) return null;
    const refused = { written: 0, leftOut: 0, last: entry };
    this.organizations.set(entry.organizationId, refused);
    return refused;
  }

  private async write(entry: NewAuditEntry, status: number): Promise<void> {
    try {
      await this.audit.endEntry(await this.audit.beginEntry(entry), status);
    } catch (error) {
      this.logger.warn('A refused call is not in the audit trail', { err: AppError.from(error) });
    }
  }
}
