import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';

/** The request and response of one call, each as JSON text. */
export interface GenerationContent {
  readonly input: string;
  readonly output: string;
  /** Null for a call that was answered. */
  readonly error: string | null;
}

export interface StoredContent extends GenerationContent {
  readonly generationId: string;
  /** UTC day named by the id, `YYYY-MM-DD`. */
  readonly createdOn: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

const MOST_DELETED = 500;

@Injectable()
export class GenerationContentsRepository {
  constructor(private readonly database: Database) {}

  /** Stores the contents in one statement. Contents that are already stored are not changed. */
  async store(contents: readonly StoredContent[]): Promise<void> {
    await this.database.execute({
      name: 'generation-contents-store',
      sql: `
        INSERT INTO generation_contents
          (created_on, generation_id, organization_id, workspace_id, input, output, error)
        SELECT created_on, id, organization_id, workspace_id, input::json, output::json, error::json
        FROM unnest($1::date[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
          AS t(created_on, id, organization_id, workspace_id, input, output, error)
        ON CONFLICT DO NOTHING`,
      values: [
        contents.map((content) => content.createdOn),
        contents.map((content) => content.generationId),
        contents.map((content) => content.organizationId),
        contents.map((content) => content.workspaceId),
        contents.map((content) => content.input),
        contents.map((content) => content.output),
        contents.map((content) => content.error),
      ],
    });
  }

  /** Returns the content, if the call belongs to the workspace. `createdOn` is the day in its id. */
  async find(generationId: string, createdOn: string, tenant: WorkspaceTenant): Promise<GenerationContent | null> {
    return this.database.asTenant(tenant).firstRow<GenerationContent>({
      name: 'generation-contents-find',
      sql: `
        SELECT input::text AS input, output::text AS output, error::text AS error FROM generation_contents
        WHERE created_on = $1 AND generation_id = $2 AND workspace_id = $3`,
      values: [createdOn, generationId, tenant.workspaceId],
    });
  }

  /**
   * Deletes a part of the contents that are older than this many whole UTC days; any number of processes may do so at
   * once.
   * @returns how many rows were deleted, and whether there may be more
   */
  async purgeOlderThan(days: number): Promise<{ readonly deleted: number; readonly isDone: boolean }> {
    const deleted = await this.database.execute({
      sql: `
        DELETE FROM generation_contents WHERE (created_on, generation_id) IN (
          SELECT created_on, generation_id FROM generation_contents
          WHERE created_on < (now() AT TIME ZONE 'UTC')::date - $1::integer
          ORDER BY created_on, generation_id LIMIT $2 FOR UPDATE SKIP LOCKED
        )`,
      values: [days, MOST_DELETED],
    });
    return { deleted, isDone: deleted < MOST_DELETED };
  }
}
