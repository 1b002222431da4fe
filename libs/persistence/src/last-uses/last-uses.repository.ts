import { Injectable } from '@nestjs/common';
import { plainArray } from '../array-literal';
import { Database } from '../database';

/** A use of a key or credential. */
export interface LastUse {
  /** Hash of the key, or id of the credential. */
  readonly subject: string;
  readonly organizationId: string;
  /** How long ago it was used, so that the clocks of processes need not agree. */
  readonly ageMs: number;
}

@Injectable()
export class LastUsesRepository {
  constructor(private readonly database: Database) {}

  /** One statement. Ordered by subject, so that two processes never wait for each other's rows. */
  async storeUses(uses: readonly LastUse[]): Promise<void> {
    await this.database.execute({
      name: 'store-last-uses',
      sql: `
        INSERT INTO last_uses (subject, organization_id, used_at)
        SELECT u.subject, u.organization_id, now() - u.age_ms * interval '1 millisecond'
        FROM unnest($1::text[], $2::uuid[], $3::bigint[]) u(subject, organization_id, age_ms) ORDER BY u.subject
        ON CONFLICT (subject) DO UPDATE SET used_at = excluded.used_at WHERE last_uses.used_at < excluded.used_at`,
      values: [
        plainArray(uses.map(({ subject }) => subject)),
        plainArray(uses.map(({ organizationId }) => organizationId)),
        plainArray(uses.map(({ ageMs }) => Math.max(0, Math.round(ageMs)))),
      ],
    });
  }

  /** By subject. Unused subjects, and those of another organization, are left out. */
  async findUses(organizationId: string, subjects: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    if (subjects.length === 0) return new Map();
    const rows = await this.database.asOrganization({ organizationId }).rows<{ subject: string; usedAt: Date }>({
      name: 'find-last-uses',
      sql: `SELECT subject, used_at AS "usedAt" FROM last_uses WHERE subject = ANY($1::text[]) AND organization_id = $2`,
      values: [plainArray(subjects), organizationId],
    });
    return new Map(rows.map(({ subject, usedAt }) => [subject, usedAt]));
  }
}
