import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { Cancellation, CatalogueSource, NativeBatchCaller } from '@libs/inference';
import { BatchRemovalRepository, NativeBatchesRepository, type NativeBatch } from '@libs/persistence';
import { KEY_GONE, reach, type Reach } from './native-reach';

/** Outcomes, the worst first: the owner of the batch is shown the worst of all orders. */
const OUTCOMES = ['unreachable', 'refused', 'unsupported', 'deleted', 'nothing'] as const;
type RemovalOutcome = (typeof OUTCOMES)[number];

/** Asks providers to delete their data of a batch that its owner deletes. */
@Injectable()
export class NativeRemovalService {
  private readonly logger = new Logger(NativeRemovalService.name);

  constructor(
    private readonly catalogue: CatalogueSource,
    private readonly caller: NativeBatchCaller,
    private readonly removal: BatchRemovalRepository,
    private readonly orders: NativeBatchesRepository,
  ) {}

  /** Does nothing if no removal was requested. Safe to repeat: data that no longer exists counts as deleted. */
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
    const { upstreamId, inputFileId } = order;
    const isLost = mayHaveUnknown(order);
    if (upstreamId === null && inputFileId === null) return isLost ? 'unsupported' : 'nothing';
    try {
      const at = await reach(order, this.catalogue.current(), this.caller, new Cancellation());
      const outputs = await this.outputsOf(order, at);
      if (outputs === null) return 'refused';
      const removed = await at.lane.batches.remove({ id: upstreamId, inputFileId, outputs }, at.access);
      return isLost ? 'unsupported' : removed;
    } catch (thrown) {
      const { code, internal, message } = AppError.from(thrown);
      this.logger.warn(`order ${order.reference} stays at ${order.provider}: ${internal ?? message}`);
      return code === KEY_GONE ? 'unreachable' : 'refused';
    }
  }

  /** Returns the ids of the outputs, also of a job given up before it had any; null while more may be written. */
  private async outputsOf(
    { reference, upstreamId, outputIds }: NativeBatch,
    { lane, access }: Reach,
  ): Promise<readonly string[] | null> {
    if (upstreamId === null || outputIds.length > 0) return outputIds;
    const job = await lane.batches.poll(upstreamId, access);
    if (job?.state !== 'running') return job?.outputs ?? [];
    await lane.batches.cancel(upstreamId, access);
    this.logger.warn(`order ${reference} is not over at its provider, and is called off`);
    return null;
  }
}

/** Returns whether the provider may have a job or a file whose id is unknown: it was neither found nor refused. */
function mayHaveUnknown({ upstreamId, submittedAt, losses, unansweredUploads }: NativeBatch): boolean {
  return (upstreamId === null && submittedAt !== null) || losses > 0 || unansweredUploads > 0;
}
