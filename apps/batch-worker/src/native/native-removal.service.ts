import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { Cancellation, CatalogueSource, NativeBatchCaller } from '@libs/inference';
import { BatchRemovalRepository, NativeBatchesRepository, type NativeBatch } from '@libs/persistence';
import { KEY_GONE, reach } from './native-reach';

/** The worst comes first: it is what the batch's owner is told. */
const OUTCOMES = ['unreachable', 'refused', 'unsupported', 'deleted', 'nothing'] as const;
type RemovalOutcome = (typeof OUTCOMES)[number];

/** Has providers delete what they keep of a batch that its owner deletes (interface §4.3). */
@Injectable()
export class NativeRemovalService {
  private readonly logger = new Logger(NativeRemovalService.name);

  constructor(
    private readonly catalogue: CatalogueSource,
    private readonly caller: NativeBatchCaller,
    private readonly removal: BatchRemovalRepository,
    private readonly orders: NativeBatchesRepository,
  ) {}

  /** Does nothing for a batch of which nobody asked it. Repeating it is harmless: what is gone counts as deleted. */
  async removeIfRequested(batchId: string): Promise<void> {
    if (!(await this.removal.isUpstreamRequested(batchId))) return;
    const outcomes = new Set<RemovalOutcome>();
    for (const order of await this.orders.ofBatch(batchId)) outcomes.add(await this.remove(order));
    const outcome = OUTCOMES.find((one) => outcomes.has(one)) ?? 'nothing';
    failpoint('upstream-batch-removed');
    await this.removal.reportUpstream(batchId, outcome === 'nothing' ? null : outcome);
    this.logger.log(`what providers kept of batch ${batchId}: ${outcome}`);
  }

  private async remove(order: NativeBatch): Promise<RemovalOutcome> {
    const { upstreamId, inputFileId, outputIds } = order;
    // Sent, and neither found nor known to have been refused: what there may be of it cannot be named.
    const isLost = upstreamId === null && order.submittedAt !== null;
    if (upstreamId === null && inputFileId === null) return isLost ? 'unsupported' : 'nothing';
    try {
      const at = await reach(order, this.catalogue.current(), this.caller, new Cancellation());
      const removed = await at.lane.batches.remove({ id: upstreamId, inputFileId, outputs: outputIds }, at.access);
      return isLost ? 'unsupported' : removed;
    } catch (thrown) {
      const { code, internal, message } = AppError.from(thrown);
      this.logger.warn(`order ${order.reference} stays at ${order.provider}: ${internal ?? message}`);
      return code === KEY_GONE ? 'unreachable' : 'refused';
    }
  }
}
