import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { AuditRepository, type NewAuditEntry } from '@libs/persistence';

const MINUTE_MS = 60_000;
/** Entries that one process writes in a minute for the refused calls of one organization, and of all. */
const MOST_OF_ORGANIZATION = 30;
const MOST = 300;
const STATUS = 403;

/**
 * Notes calls with a key that may not make them: an API key for management, a management key for inference. Nothing is done for such a call, so its entry is
 * written in the background, and a caller that goes on trying fills neither the trail nor the memory.
 */
@Injectable()
export class RefusedCalls {
  private readonly logger = new Logger(RefusedCalls.name);
  private readonly counts = new Map<string, number>();
  private minute = -1;
  private total = 0;

  constructor(private readonly audit: AuditRepository) {}

  /** Writes the entry unless there were too many this minute; the first that is left out is logged. */
  note(entry: NewAuditEntry, nowMs = performance.now()): void {
    this.beginMinute(Math.floor(nowMs / MINUTE_MS));
    const count = (this.counts.get(entry.organizationId) ?? 0) + 1;
    if (this.total > MOST || count > MOST_OF_ORGANIZATION + 1) return;
    this.counts.set(entry.organizationId, count);
    if (count > MOST_OF_ORGANIZATION) return this.leaveOut(entry.organizationId);
    this.total += 1;
    if (this.total > MOST) return this.leaveOut('all');
    void this.write(entry);
  }

  private leaveOut(organizationId: string): void {
    this.logger.warn('Refused calls are left out of the audit trail for a minute', { organizationId });
  }

  private beginMinute(minute: number): void {
    if (minute === this.minute) return;
    this.minute = minute;
    this.total = 0;
    this.counts.clear();
  }

  private async write(entry: NewAuditEntry): Promise<void> {
    try {
      await this.audit.endEntry(await this.audit.beginEntry(entry), STATUS);
    } catch (error) {
      this.logger.warn('A refused call is not in the audit trail', { err: AppError.from(error) });
    }
  }
}
