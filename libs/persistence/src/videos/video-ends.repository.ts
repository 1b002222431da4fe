import { Injectable } from '@nestjs/common';
import { dayOfId } from '@libs/contracts';
import { Database, type Session } from '../database';
import { ByokAllowance, NO_ALLOWANCE, waiveFees } from '../ledger/byok-allowance';
import { LedgerRepository } from '../ledger/ledger.repository';
import { storableText } from '../storable-text';
import type { KeptVideo } from './video-state';
import type { VideoJob } from './video-jobs.repository';

/** How a job ended. Amounts are exact decimal strings in US dollars. */
export type VideoEnd =
  | {
      readonly status: 'completed';
      readonly outputs: readonly KeptVideo[];
      /** How long its outputs are kept. */
      readonly keepMs: number;
      readonly costUsd: string;
      /** By the catalogue's price, if the provider charged the owner of the key. */
      readonly upstreamCostUsd: string | null;
    }
  | {
      readonly status: 'failed' | 'cancelled' | 'expired';
      readonly errorMessage: string;
    };

/** Called with the end of a job and its charge, in the transaction that ends it. */
export type TellEnd = (session: Session, end: VideoEnd) => Promise<void>;

const STATUS_CODES = { completed: 200, failed: 502, cancelled: 499, expired: 504 } as const;
const OUTCOMES = { completed: 'completed', failed: 'failed', cancelled: 'cancelled', expired: 'failed' } as const;

/**
 * Ends video jobs. The row, the charge, the hold, the generation and the event commit together, guarded by the fence
 * and by `finished_at`, so only the first end counts.
 *
 * Locks are taken in the order of every other charge: the account, the key, the day of the key.
 */
@Injectable()
export class VideoEndsRepository {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly allowance: ByokAllowance = NO_ALLOWANCE,
  ) {}

  /** Returns false if the lease of the job was lost or the job has ended. */
  async finish(job: VideoJob, given: VideoEnd, tell: TellEnd): Promise<boolean> {
    const ending = given.status === 'completed' ? given : { ...given, errorMessage: storableText(given.errorMessage) };
    return this.database.transaction(async (session) => {
      if (!(await close(session, job, ending))) return false;
      const end = await this.withoutWaivedFee(session, job, ending);
      if (end.status === 'completed') await settleOnHold(session, job, end);
      await this.ledger.resolveHold(session, job.id);
      if (end.status === 'completed') await charge(session, job, end);
      await recordGeneration(session, job, end);
      await tell(session, end);
      return true;
    });
  }

  /** With an own key the whole charge is a fee, which the organization's allowance may waive completely or in part. */
  private async withoutWaivedFee(session: Session, job: VideoJob, end: VideoEnd): Promise<VideoEnd> {
    const { freeUsdPerMonth } = this.allowance;
    if (freeUsdPerMonth === null || end.status !== 'completed' || end.upstreamCostUsd === null) return end;
    const row = await session.firstRow<{ cost: string }>({
      name: 'video-waive-fee',
      sql: WAIVE_SQL,
      values: [job.id, job.organizationId, end.costUsd, end.upstreamCostUsd, freeUsdPerMonth],
    });
    return row === null ? end : { ...end, costUsd: row.cost };
  }

  /** Returns jobs whose stored copies have expired, except those in `exceptIds`. */
  async findOutdated(
    limit: number,
    exceptIds: readonly string[] = [],
  ): Promise<{ id: string; outputs: KeptVideo[] }[]> {
    return this.database.rows<{ id: string; outputs: KeptVideo[] }>({
      name: 'videos-outdated',
      sql: `SELECT id, outputs FROM videos WHERE outputs IS NOT NULL AND outputs_expire_at < now()
              AND id <> ALL($2::text[]) ORDER BY outputs_expire_at LIMIT $1`,
      values: [limit, exceptIds],
    });
  }

  /** Records that the copies of a job are deleted. */
  async forgetOutputs(id: string): Promise<void> {
    await this.database.execute({ sql: 'UPDATE videos SET outputs = NULL WHERE id = $1', values: [id] });
  }
}

const WAIVE_SQL = `
  WITH due AS (
    SELECT $1::text AS id, $2::uuid AS organization_id, $3::numeric AS fee_usd, $4::numeric AS list_usd
    WHERE $4::numeric > 0
  ), ${waiveFees('due', '$5::numeric')}
  UPDATE videos SET cost_usd = cost_usd - waived_usd FROM waived WHERE videos.id = waived.id
  RETURNING cost_usd::text AS cost`;

async function close(session: Session, { id, fence }: VideoJob, end: VideoEnd): Promise<boolean> {
  const isDone = end.status === 'completed';
  const touched = await session.execute({
    name: 'video-close',
    sql: `
      UPDATE videos SET status = $3, finished_at = now(), request = NULL, lease_until = NULL, error_message = $4,
        outputs = $5, outputs_expire_at = now() + $6::float8 * interval '1 millisecond', cost_usd = $7
      WHERE id = $1 AND fence = $2 AND finished_at IS NULL`,
    values: [
      id,
      fence,
      end.status,
      isDone ? null : end.errorMessage,
      isDone ? JSON.stringify(end.outputs) : null,
      isDone ? end.keepMs : null,
      isDone ? end.costUsd : null,
    ],
  });
  return touched === 1;
}

interface Bill {
  readonly costUsd: string;
  /** What the owner's own provider charged, which counts for limits that include it. */
  readonly upstreamCostUsd: string | null;
}

/** Returns the amounts with which the hold is resolved. */
async function settleOnHold(session: Session, { id }: VideoJob, { costUsd, upstreamCostUsd }: Bill): Promise<void> {
  await session.execute({
    name: 'video-settle-on-hold',
    sql: `UPDATE ledger_holds
          SET settled_usd = settled_usd + $2::numeric, settled_byok_usd = settled_byok_usd + $3::numeric
          WHERE id = $1 AND state = 'open'`,
    values: [id, costUsd, upstreamCostUsd ?? '0'],
  });
}

async function charge(session: Session, job: VideoJob, { costUsd, upstreamCostUsd }: Bill): Promise<void> {
  await session.execute({
    name: 'video-charge',
    sql: `
      WITH charged AS (
        INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id,
          api_key_hash)
        SELECT $1, 'charge', 'org:' || $2, 'revenue', $5::numeric, $3::uuid, $4 WHERE $5::numeric > 0
      )
      INSERT INTO ledger_key_days AS k (api_key_hash, day, charged_usd, byok_usd)
      VALUES ($4, (now() AT TIME ZONE 'UTC')::date, $5::numeric, $6::numeric)
      ON CONFLICT (api_key_hash, day) DO UPDATE
      SET charged_usd = k.charged_usd + excluded.charged_usd, byok_usd = k.byok_usd + excluded.byok_usd`,
    values: [job.id, job.organizationId, job.workspaceId, job.apiKeyHash, costUsd, upstreamCostUsd ?? '0'],
  });
}

/** Records the job as a generation, so that `GET /generation` shows videos like every other call. */
async function recordGeneration(session: Session, job: VideoJob, end: VideoEnd): Promise<void> {
  const isDone = end.status === 'completed';
  const upstreamCostUsd = isDone ? end.upstreamCostUsd : null;
  const details = {
    attempts: [],
    ...(job.credentialId !== null && { isByok: true }),
    ...(upstreamCostUsd !== null && { upstreamCostUsd }),
  };
  await session.execute({
    name: 'video-generation',
    sql: `
      INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, state,
        hold_usd, provider, upstream_model, status_code, outcome, usage_provenance, cost_usd, generation_ms, details,
        created_at, settled_at)
      SELECT id, $2, organization_id, workspace_id, api_key_hash, 'video', model, false, 'settled', 0, provider,
        upstream_model, $3, $4, 'upstream', coalesce(cost_usd, 0),
        least(2147483647, extract(epoch FROM now() - created_at) * 1000)::integer, $5, created_at, now()
      FROM videos WHERE id = $1
      ON CONFLICT DO NOTHING`,
    values: [job.id, dayOfId(job.id), STATUS_CODES[end.status], OUTCOMES[end.status], JSON.stringify(details)],
  });
}
