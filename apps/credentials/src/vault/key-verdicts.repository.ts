import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

/** The version of a credential's key that a call used. */
export interface UsedKey {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly id: string;
  /** A verdict on a version other than the stored one changes nothing. */
  readonly keyVersion: number;
}

const THIS_KEY = `id = $1 AND organization_id = $2 AND workspace_id = $3 AND key_version = $4 AND deleted_at IS NULL`;
/** A minute after the first refusal, then twice as long after each, at most an hour. */
const PASSED_OVER = `least(interval '1 hour', interval '1 minute' * power(2, least(refusals, 6)))`;

/** Stores whether providers accept keys. Each statement is guarded, so of many calls with one verdict one counts. */
@Injectable()
export class KeyVerdictsRepository {
  constructor(private readonly database: Database) {}

  /** Counts a refusal. Calls that were already running when the key was already skipped do not count. */
  async noteRefusal(key: UsedKey, status: number): Promise<boolean> {
    const touched = await this.database.asTenant(key).execute({
      name: 'note-key-refusal',
      sql: `
        UPDATE credentials SET refusals = refusals + 1, last_error_status = $5, last_error_at = now(),
          skipped_until = now() + ${PASSED_OVER}
        WHERE ${THIS_KEY} AND (skipped_until IS NULL OR skipped_until <= now())`,
      values: [...valuesOf(key), status],
    });
    return touched === 1;
  }

  /** Clears the refusals. Only a call made after the key's pause shows that the key works again. */
  async noteAcceptance(key: UsedKey): Promise<boolean> {
    const touched = await this.database.asTenant(key).execute({
      name: 'note-key-acceptance',
      sql: `
        UPDATE credentials SET refusals = 0, last_error_status = NULL, last_error_at = NULL, skipped_until = NULL
        WHERE ${THIS_KEY} AND skipped_until <= now()`,
      values: valuesOf(key),
    });
    return touched === 1;
  }
}

function valuesOf({ id, organizationId, workspaceId, keyVersion }: UsedKey): (string | number)[] {
  return [id, organizationId, workspaceId, keyVersion];
}
