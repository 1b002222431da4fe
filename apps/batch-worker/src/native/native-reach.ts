import { AppError } from '@libs/errors';
import {
  providerAccountOf,
  type CancelSignal,
  type Candidate,
  type Catalogue,
  type CredentialScope,
  type NativeBatchAccess,
  type NativeBatchCaller,
  type NativeLane,
} from '@libs/inference';
import type { NativeBatch } from '@libs/persistence';
import { apiOf, candidateOf } from '../batches/batch-candidate';

/** Error code if the caller's own key was deleted or is otherwise permanently unusable. */
export const KEY_GONE = 'precondition_failed';

/** The provider of an order, with the key to which it belongs. */
export interface Reach {
  readonly candidate: Candidate;
  readonly lane: NativeLane;
  /** For requests without lines, such as polls: short timeouts. */
  readonly access: NativeBatchAccess;
  /** For uploads of lines: the timeouts of a call. */
  readonly sending: NativeBatchAccess;
  /** For downloads of outputs: the first byte must come soon, the rest may take long. */
  readonly reading: NativeBatchAccess;
}

type Timeouts = NativeBatchAccess['timeouts'];

const QUESTION_TIMEOUTS: Timeouts = { headersMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
const OUTPUT_TIMEOUTS: Timeouts = { headersMs: 60_000, idleMs: Infinity, totalMs: Infinity };

/** Returns the id of a line at the provider; the caller's own ids are never sent there. */
export function customIdOf({ reference }: NativeBatch, seq: number): string {
  return `${reference}-${seq}`;
}

/** Returns the line that an id names; null if the id is not of this order. */
export function seqOf({ reference, firstSeq, lastSeq }: NativeBatch, customId: string): number | null {
  if (!customId.startsWith(`${reference}-`)) return null;
  const digits = customId.slice(reference.length + 1);
  const seq = /^\d{1,9}$/.test(digits) ? Number(digits) : -1;
  return seq >= firstSeq && seq <= lastSeq ? seq : null;
}

export function scopeOf({ organizationId, workspaceId, apiKeyHash, isOwnKeysOnly }: NativeBatch): CredentialScope {
  return { organizationId, workspaceId, apiKeyHash, isOwnKeysOnly };
}

/**
 * @throws AppError provider_unavailable if the endpoint is no longer in the catalogue, KEY_GONE if the credentials no
 * longer allow it
 */
export async function reach(
  order: NativeBatch,
  catalogue: Catalogue,
  caller: NativeBatchCaller,
  signal: CancelSignal,
): Promise<Reach> {
  const plain = candidateOf(order, catalogue);
  const scope = scopeOf(order);
  const isBegun = order.state !== 'planned';
  const candidate = isBegun
    ? await caller.withSameKey(plain, order.credentialId, scope)
    : await caller.withKey(plain, scope);
  if (candidate === null) {
    throw new AppError(KEY_GONE, 'The provider of this batch is not available', {
      internal: `order ${order.reference}: its key is gone`,
    });
  }
  const sending = await caller.accessTo(candidate, scope, signal);
  const access = { ...sending, timeouts: atMost(QUESTION_TIMEOUTS, sending.timeouts) };
  const reading = { ...sending, timeouts: atMost(OUTPUT_TIMEOUTS, sending.timeouts) };
  // A key of the caller's own may name the deployment for which lines are written.
  const lane = caller.laneOf(apiOf(order.endpoint), access.endpoint, providerAccountOf(candidate, { scope }));
  if (lane === null) {
    throw new AppError('provider_unavailable', 'The provider of this batch is not available', {
      internal: `order ${order.reference}: the protocol has no batches`,
    });
  }
  return { candidate, lane, access, sending, reading };
}

function atMost(limits: Timeouts, most: Timeouts): Timeouts {
  return {
    headersMs: Math.min(limits.headersMs, most.headersMs),
    idleMs: Math.min(limits.idleMs, most.idleMs),
    totalMs: Math.min(limits.totalMs, most.totalMs),
  };
}
