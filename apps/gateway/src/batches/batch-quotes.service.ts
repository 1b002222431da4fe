import { Injectable } from '@nestjs/common';
import {
  API_OF_BATCH,
  accountOf,
  quotaGroupsOf,
  type AccountModel,
  type Endpoint,
  type PicoUsd,
} from '@libs/inference';
import {
  BatchQuotesRepository,
  BatchWorkersRepository,
  type BatchKind,
  type QuotedBatch,
  type StoredQuote,
  type WorkerSpeed,
} from '@libs/persistence';
import { InferenceRouting } from '../routing/inference-routing';
import type { BatchHeader } from './batch-header';
import { quoteBatch } from './batch-quote';
import { BriefCache } from './brief-cache';
import { expectedDuration } from './lane-forecast';

/** A batch whose lines have all arrived. */
export interface BatchToQuote {
  /** True if the provider of the batch must not be given its files. */
  readonly leavesNothing: boolean;
  readonly workspaceId: string;
  readonly header: BatchHeader;
  readonly endpoint: Endpoint;
  /** Id of the caller's own provider key that is used first; null for the operator's key. */
  readonly credentialId: string | null;
  readonly lines: number;
  readonly estimate: PicoUsd;
}

interface LaneState {
  readonly speeds: readonly WorkerSpeed[];
  readonly backlog: ReadonlyMap<string, number>;
}

/** Number of past batches to compare with; a tenth of this number plus one is a whole number. */
const PAST_BATCHES = 99;
/**
 * A provider's own batches take the same time at any size. This is only the unit in which their duration is counted.
 */
const NATIVE_UNIT_MS = 3_600_000;

/** Makes the quotes of batches. All facts for a quote are in PostgreSQL, so every gateway returns the same quote. */
@Injectable()
export class BatchQuotesService {
  private readonly past = new BriefCache<QuotedBatch[]>((kind) =>
    this.quotes.finished(JSON.parse(kind) as BatchKind, PAST_BATCHES),
  );
  private readonly lanes = new BriefCache<LaneState>((called) => this.readLane(JSON.parse(called) as AccountModel));

  constructor(
    private readonly quotes: BatchQuotesRepository,
    private readonly workers: BatchWorkersRepository,
    private readonly routing: InferenceRouting,
  ) {}

  async quote({ leavesNothing, ...batch }: BatchToQuote): Promise<StoredQuote> {
    const { workspaceId, header, endpoint, credentialId, lines, estimate } = batch;
    const { upstreamModel, provider } = endpoint;
    const ownKey = credentialId !== null;
    const kind: BatchKind = { provider: provider.slug, upstreamModel, endpoint: header.endpoint };
    const past = this.past.get(JSON.stringify(kind));
    if (!leavesNothing && this.routing.runsBatchesItself(endpoint, API_OF_BATCH[header.endpoint])) {
      const facts = { workspaceId, lane: 'native', ownKey, estimate, expectedMs: NATIVE_UNIT_MS } as const;
      return quoteBatch({ ...facts, past: await past });
    }
    const called: AccountModel = { account: accountOf(provider.slug, credentialId), upstreamModel };
    const { speeds, backlog } = await this.lanes.get(JSON.stringify(called));
    const expectedMs = expectedDuration(speeds, { lines, workspaceId, backlog });
    return quoteBatch({ workspaceId, lane: 'managed', ownKey, estimate, expectedMs, past: await past });
  }

  /** A key that has not been used yet is assumed to be as fast as the operator's key. */
  private async readLane(called: AccountModel): Promise<LaneState> {
    const groups = quotaGroupsOf(this.routing.catalogue());
    const quota = groups.quotaOf(called);
    const operators = groups.quotaOf({ ...called, account: called.account.split(':', 1)[0]! });
    const [speeds, backlog] = await Promise.all([
      this.workers.speeds(quota, operators),
      this.quotes.backlog(groups.membersOf(quota)),
    ]);
    return { speeds, backlog };
  }
}
