/**
 * `planned`: nothing was sent yet. `uploaded`: the provider has the lines. `submitting`: the order may or may not have
 * been accepted. `running`: the id at the provider is known. `done`: nothing more is expected from it.
 */
export type NativeBatchState = 'planned' | 'uploaded' | 'submitting' | 'running' | 'done';

/** An order that a worker leases: the holder of the highest fence may record its outcome. */
export interface NativeBatch {
  readonly reference: string;
  readonly fence: bigint;
  readonly batchId: string;
  readonly batchNumber: bigint;
  readonly createdOn: string;
  readonly part: number;
  readonly firstSegment: number;
  readonly lastSegment: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly state: NativeBatchState;
  readonly credentialId: string | null;
  /** Whether only its owner's own keys may serve it. */
  readonly isOwnKeysOnly: boolean;
  readonly inputFileId: string | null;
  /** Uploads of its file whose answer is not known: the provider may have a file each, and its id is lost. */
  readonly unansweredUploads: number;
  readonly upstreamId: string | null;
  /** True if it was found by searching, so that the results must confirm it. */
  readonly isAdopted: boolean;
  readonly outputIds: readonly string[];
  readonly sentLines: number | null;
  readonly submittedAt: Date | null;
  readonly looks: number;
  /** How often it was sent and did not arrive. */
  readonly losses: number;
  readonly notOurs: readonly string[];
  readonly failures: number;
  readonly isCancelled: boolean;
  /** Time since it was submitted; 0 before. */
  readonly ageMs: number;
  /** True while its batch continues: it was not cancelled, and its window is open. */
  readonly isWanted: boolean;
  /** True if it is too late for the provider: the remaining lines must run as single calls. */
  readonly isLate: boolean;
  /** Cancelled long ago, and still not over. */
  readonly isStuck: boolean;
}

/** SQL over `batches b`. */
export const IS_WANTED = `coalesce(b.status = 'in_progress' AND b.stop_by IS NULL, false)`;

/** SQL columns over `native_batches n LEFT JOIN batches b`, in the form of `NativeRow`. */
export const ORDER_COLUMNS = `n.reference, n.fence, n.batch_id, n.batch_number, n.created_on::text AS created_on, n.part,
  n.first_segment, n.last_segment, n.first_seq, n.last_seq, n.endpoint, n.model, n.provider, n.upstream_model,
  n.organization_id, n.workspace_id, n.api_key_hash, n.state, n.credential_id, n.input_file_id,
  n.unanswered_uploads, n.upstream_id, n.adopted, n.output_ids, n.sent_lines, n.submitted_at, n.looks, n.losses, n.not_ours, n.failures, n.cancelled_at,
  coalesce((extract(epoch FROM now() - n.submitted_at) * 1000)::bigint, 0) AS age_ms,
  coalesce(b.own_keys_only, false) AS own_keys_only, ${IS_WANTED} AS is_wanted, n.finish_by <= now() AS is_late,
  coalesce(n.cancelled_at < now() - interval '15 minutes', false) AS is_stuck`;

export interface NativeRow {
  reference: string;
  fence: string;
  batch_id: string;
  batch_number: string;
  created_on: string;
  part: number;
  first_segment: number;
  last_segment: number;
  first_seq: number;
  last_seq: number;
  endpoint: string;
  model: string;
  provider: string;
  upstream_model: string;
  organization_id: string;
  workspace_id: string;
  api_key_hash: string;
  state: NativeBatchState;
  credential_id: string | null;
  own_keys_only: boolean;
  input_file_id: string | null;
  unanswered_uploads: number;
  upstream_id: string | null;
  adopted: boolean;
  output_ids: string[];
  sent_lines: number | null;
  submitted_at: Date | null;
  looks: number;
  losses: number;
  not_ours: string[];
  failures: number;
  cancelled_at: Date | null;
  age_ms: string;
  is_wanted: boolean;
  is_late: boolean;
  is_stuck: boolean;
}

export function toNativeBatch(row: NativeRow): NativeBatch {
  return {
    reference: row.reference,
    fence: BigInt(row.fence),
    batchId: row.batch_id,
    batchNumber: BigInt(row.batch_number),
    createdOn: row.created_on,
    part: row.part,
    firstSegment: row.first_segment,
    lastSegment: row.last_segment,
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    endpoint: row.endpoint,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    apiKeyHash: row.api_key_hash,
    state: row.state,
    credentialId: row.credential_id,
    isOwnKeysOnly: row.own_keys_only,
    inputFileId: row.input_file_id,
    unansweredUploads: row.unanswered_uploads,
    upstreamId: row.upstream_id,
    isAdopted: row.adopted,
    outputIds: row.output_ids,
    sentLines: row.sent_lines,
    submittedAt: row.submitted_at,
    looks: row.looks,
    losses: row.losses,
    notOurs: row.not_ours,
    failures: row.failures,
    isCancelled: row.cancelled_at !== null,
    ageMs: Number(row.age_ms),
    isWanted: row.is_wanted,
    isLate: row.is_late,
    isStuck: row.is_stuck,
  };
}
