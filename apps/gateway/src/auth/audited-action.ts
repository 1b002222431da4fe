import type { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { AuditRepository, NewAuditEntry } from '@libs/persistence';
import { fromHttpFramework } from '@libs/platform';

/** How an action ended. `created`: the id of what it created, for an entry without a target. */
export interface AuditedEnd {
  readonly status: number;
  readonly created?: string | undefined;
}

export interface AuditTrail {
  readonly audit: Pick<AuditRepository, 'beginEntry' | 'endEntry'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Runs an action with an entry in the audit trail. The entry is written before the action does anything, so no action
 * is missing from the trail. The outcome is added afterwards; if that fails, the action stays done, and its entry
 * without a status still shows that it began.
 */
export async function auditedAction<T>(
  { audit, logger }: AuditTrail,
  entry: NewAuditEntry,
  act: () => Promise<T>,
  endOf: (result: T) => AuditedEnd,
): Promise<T> {
  const begun = await audit.beginEntry(entry);
  const end = ({ status, created }: AuditedEnd): Promise<void> =>
    audit.endEntry(begun, status, created).catch((error: unknown) => {
      logger.warn('The outcome of an action is not in the audit trail', { entry: begun.id, err: AppError.from(error) });
    });
  try {
    const result = await act();
    await end(endOf(result));
    return result;
  } catch (error) {
    await end({ status: fromHttpFramework(error).status });
    throw error;
  }
}
