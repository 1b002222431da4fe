import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { BatchRemovalRepository, type RemovalAnswer, type WorkspaceTenant } from '@libs/persistence';
import { OutboxRelay } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { batchNotFound, isBatchId } from './batches.service';

/** How long a caller waits for the provider to delete its copy. */
const UPSTREAM_TIMEOUT_MS = 25_000;
const LOOK_MS = 200;

/** The answer of DELETE /batches/{id}. */
export interface BatchDeletedObject {
  readonly id: string;
  readonly object: 'batch';
  /** The field is named after this service. */
  readonly deletion: Readonly<Record<string, string | UpstreamDeletionObject>>;
}

export interface UpstreamDeletionObject {
  readonly provider: string;
  readonly status: 'deleted' | 'unsupported' | 'not_applicable';
}

/** Removes batches: first the provider's copy, by a worker that has the key for it, then our own. */
@Injectable()
export class BatchRemovalService {
  constructor(
    private readonly removal: BatchRemovalRepository,
    private readonly relay: OutboxRelay,
    private readonly env: GatewayEnv,
  ) {}

  /**
   * @throws AppError not_found, conflict (the batch has not ended, or the key with which it ran was deleted),
   * provider_unavailable (the provider did not delete its part; nothing was removed and the caller may retry)
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
