import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { CatalogueSource, NativeBatchCaller, type Candidate, type NativeLane } from '@libs/inference';
import { NativePlansRepository, type BeginningBatch, type PartLimits, type Session } from '@libs/persistence';
import { apiOf, candidateOf } from '../batches/batch-candidate';

/** Lines that the provider has not answered this long before the window ends are run as single calls. */
const MARGIN_MS = 2 * 60 * 60_000;
/** With less time than this left, the batch is not given to the provider. */
const LEAST_WINDOW_MS = 2 * MARGIN_MS;
/** Most bytes of one order, whose lines are in memory while they are sent. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Decides, when a batch begins, whether the provider's batch API or our workers run it: by catalogue, price and time
 * left.
 */
@Injectable()
export class NativeChoiceService {
  private readonly logger = new Logger(NativeChoiceService.name);

  constructor(
    private readonly catalogue: CatalogueSource,
    private readonly caller: NativeBatchCaller,
    private readonly plans: NativePlansRepository,
  ) {}

  /**
   * Runs in the commit that changes the batch to `in_progress`.
   * @param embedded inputs in each line of a batch of embeddings; empty for others
   */
  async assign(session: Session, batchNumber: bigint, embedded: readonly number[]): Promise<void> {
    const batch = await this.plans.beginning(session, batchNumber);
    if (batch === null || batch.remainingMs < LEAST_WINDOW_MS) return;
    const candidate = this.findCandidate(batch);
    const api = apiOf(batch.endpoint);
    const lane = candidate && this.caller.laneOf(api, candidate.endpoint);
    if (candidate === null || lane === null || !this.caller.isPreferred(api, candidate.endpoint)) return;
    const limits = { lines: lane.batches.mostLines, bytes: MOST_BYTES, inputs: inputLimitOf(lane, embedded) };
    const reference = (): string => `nb${randomBytes(14).toString('hex')}`;
    const parts = await this.plans.plan(session, batch, limits, { marginMs: MARGIN_MS, reference });
    this.logger.log(`batch ${batch.id} goes to ${batch.provider} as ${parts} batches of its own`);
  }

  /** A batch whose endpoint was removed fails line by line in our own lane. */
  private findCandidate(batch: BeginningBatch): Candidate | null {
    try {
      return candidateOf(batch, this.catalogue.current());
    } catch {
      return null;
    }
  }
}

function inputLimitOf({ batches }: NativeLane, embedded: readonly number[]): PartLimits['inputs'] {
  return batches.mostInputs === undefined ? undefined : { most: batches.mostInputs, ofLines: embedded };
}
