import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { BatchRemovalRepository, type RemovalAnswer, type WorkspaceTenant } from '@libs/persistence';
import { OutboxRelay } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { batchNotFound, isBatchId } from './batches.service';

/** How long a caller waits for the provider to delete what it holds. */
const UPSTREAM_TIMEOUT_MS = 25_000;
const LOOK_MS = 200;

/** The answer of DELETE /batches/{id}. */
export interface BatchDeletedObject {
  readonly id: string;
  readonly object: 'batch';
  /** The service's own member is called by its name. */
  readonly deletion: Readonly<Record<string, string | UpstreamDeletionObject>>;
}

export interface UpstreamDeletionObject {
  readonly provider: string;
  readonly status: 'deleted' | 'unsupported' | 'not_applicable';
}

/** Removes batches: first what a provider holds, by a worker that has the key for it, then what we hold. */
@Injectable()
export class BatchRemovalService {
  constructor(
    private readonly removal: BatchRemovalRepository,
    private readonly relay: OutboxRelay,
    private readonly env: GatewayEnv,
  ) {}

  /**
   * @throws AppError not_found, conflict (not in a terminal status, or the key that it ran with is gone),
   *   provider_unavailable (the provider did not delete its part; nothing was removed and the caller may try again)
   */
  async remove(id: string, tenant: WorkspaceTenant): Promise<BatchDeletedObject> {
    if (!isBatchId(id)) throw batchNotFound();
    const deadline = performance.now() + UPSTREAM_TIMEOUT_MS;
    let answer = await this.removal.remove(id, tenant, true);
    if (answer.kind === 'awaits-upstream') this.relay.wake();
    while (answer.kind === 'awaits-upstream' && performance.now() < deadline) {
      await delay(LOOK_MS);
      answer = await this.removal.remove(id, tenant, false);
    }
    return this.toObject(id, answer);
  }

  private toObject(id: string, answer: RemovalAnswer): BatchDeletedObject {
    switch (answer.kind) {
      case 'unknown':
        throw batchNotFound();
      case 'unfinished':
        throw new AppError('conflict', 'Only a completed, failed, expired or cancelled batch can be deleted');
      case 'upstream-unreachable':
        throw new AppError(
          'conflict',
          'The provider key that this batch ran with is gone, so its provider cannot delete it',
        );
      case 'awaits-upstream':
      case 'upstream-refused':
        throw new AppError('provider_unavailable', 'The provider has not deleted its part of the batch yet');
      case 'removed': {
        const { provider, upstream } = answer;
        const outcome = provider !== null && {
          upstream: { provider, status: upstream ?? ('not_applicable' as const) },
        };
        return { id, object: 'batch', deletion: { [this.env.SERVICE_NAME]: 'deleted', ...outcome } };
      }
    }
  }
}
