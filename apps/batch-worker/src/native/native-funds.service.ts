import { Injectable, Logger } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { BatchFundsRepository, keyLimitOf, NativeBatchesRepository, type NativeBatch } from '@libs/persistence';
import { BatchWorkerEnv } from '../batch-worker.env';

/** `waits`: the order is checked again later. `unpaid`: the grace period is over. */
export type OrderCover = 'covered' | 'waits' | 'unpaid';

const LOOK_MS = 30_000;

/**
 * Reserves money for orders before they are submitted, because a provider always runs a whole order. An order counts
 * with the mean cost of the answered lines of its batch, so the later orders of an expensive batch extend its hold.
 */
@Injectable()
export class NativeFundsService {
  private readonly logger = new Logger(NativeFundsService.name);

  constructor(
    private readonly funds: BatchFundsRepository,
    private readonly orders: NativeBatchesRepository,
    private readonly env: BatchWorkerEnv,
  ) {}

  /** May be repeated: the order is counted once. @param principal of the key that submitted the batch */
  async cover(order: NativeBatch, principal: Principal): Promise<OrderCover> {
    const { reference, batchId, organizationId, workspaceId, apiKeyHash, firstSeq, lastSeq } = order;
    const { budgets } = principal;
    const verdict = await this.funds.reserve({
      batchId,
      spender: { organizationId, workspaceId, apiKeyHash, keyLimit: keyLimitOf(principal), budgets },
      holder: reference,
      underWay: 0,
      wanted: lastSeq - firstSeq + 1,
      isWhole: true,
    });
    // The batch is over, and the rest of the order ends with it.
    if (verdict.kind !== 'refused') return 'covered';
    const leftMs = this.env.BATCH_CREDIT_GRACE_SECONDS * 1_000 - verdict.refusedForMs;
    if (leftMs <= 0) return 'unpaid';
    this.logger.warn(`order ${reference} of batch ${batchId} waits for credit: ${verdict.error.message}`);
    await this.orders.wait(order, Math.min(LOOK_MS, leftMs));
    return 'waits';
  }

  /** Releases the order's reservation. If that fails, the reservation expires after some minutes. */
  async release({ reference, batchId }: NativeBatch): Promise<void> {
    await this.funds.release({ batchId, holder: reference });
  }
}
