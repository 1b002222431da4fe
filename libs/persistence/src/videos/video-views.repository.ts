import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';
import type { KeptVideo, VideoDimensions, VideoStatusName } from './video-state';

/** A job as its workspace sees it. Amounts are exact decimal strings in US dollars. */
export interface VideoView {
  readonly id: string;
  readonly model: string;
  readonly status: VideoStatusName;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly credentialId: string | null;
  /** Null for a job of a release that did not record it. */
  readonly dimensions: VideoDimensions | null;
  readonly operation: Readonly<Record<string, unknown>> | null;
  readonly errorMessage: string | null;
  readonly costUsd: string | null;
  /** Null before a copy is stored, after the copies have expired, and if none was stored. */
  readonly outputs: readonly KeptVideo[] | null;
  /** Unix seconds; null if no copy was ever stored. */
  readonly outputsExpireAt: number | null;
}

/** Reads video jobs for callers. */
@Injectable()
export class VideoViewsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the job, if it belongs to the workspace. */
  async findForWorkspace(id: string, tenant: WorkspaceTenant): Promise<VideoView | null> {
    return this.database.asTenant(tenant).firstRow<VideoView>({
      name: 'video-view',
      sql: `
        SELECT id, model, status, provider, upstream_model AS "upstreamModel", region,
          credential_id AS "credentialId", dimensions, operation,
          error_message AS "errorMessage", cost_usd::text AS "costUsd",
          CASE WHEN outputs_expire_at > now() THEN outputs END AS outputs,
          floor(extract(epoch FROM outputs_expire_at))::float8 AS "outputsExpireAt"
        FROM videos WHERE id = $1 AND workspace_id = $2`,
      values: [id, tenant.workspaceId],
    });
  }
}
