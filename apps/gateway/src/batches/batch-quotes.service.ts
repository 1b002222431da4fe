import { Injectable } from '@nestjs/common';
import type { Endpoint, PicoUsd } from '@libs/inference';
import {
  BatchQuotesRepository,
  BatchWorkersRepository,
  type BatchKind,
  type QuotedBatch,
  type StoredQuote,
  type WorkerSpeed,
} from '@libs/persistence';
import { InferenceRouting } from '../inference/inference-routing';
import type { BatchHeader } from './batch-header';
import { quoteBatch } from './batch-quote';
import { API_OF_ENDPOINT } from './batch-route';
import { BriefCache } from './brief-cache';
import { expectedDuration } from './lane-forecast';

/** A batch whose lines are all there. */
export interface BatchToQuote {
  readonly workspaceId: string;
  readonly header: BatchHeader;
  readonly endpoint: Endpoint;
  readonly ownKey: boolean;
  readonly lines: number;
  readonly estimate: PicoUsd;
}

interface LaneState {
  readonly speeds: readonly WorkerSpeed[];
  readonly backlog: ReadonlyMap<string, number>;
}

/** As many as make a tenth a whole number of them. */
const PAST_BATCHES = 99;
/** A provider's own batches take what they take, whatever their size; this is only what durations are counted in. */
const NATIVE_UNIT_MS = 3_600_000;

/** What a batch is quoted: all that it is made from stands in PostgreSQL, so every gateway says the same. */
@Injectable()
export class BatchQuotesService {
  private readonly past = new BriefCache<QuotedBatch[]>((kind) =>
    this.quotes.finished(JSON.parse(kind) as BatchKind, PAST_BATCHES),
  );
  private readonly lanes = new BriefCache<LaneState>((provider) => this.readLane(provider));

  constructor(
    private readonly quotes: BatchQuotesRepository,
    private readonly workers: BatchWorkersRepository,
    private readonly routing: InferenceRouting,
  ) {}

  async quote({ workspaceId, header, endpoint, ownKey, lines, estimate }: BatchToQuote): Promise<StoredQuote> {
    const provider = endpoint.provider.slug;
    const kind: BatchKind = { provider, upstreamModel: endpoint.upstreamModel, endpoint: header.endpoint };
    const past = this.past.get(JSON.stringify(kind));
    if (this.routing.runsBatchesItself(endpoint, API_OF_ENDPOINT[header.endpoint])) {
      const facts = { workspaceId, lane: 'native', ownKey, estimate, expectedMs: NATIVE_UNIT_MS } as const;
      return quoteBatch({ ...facts, past: await past });
    }
    const { speeds, backlog } = await this.lanes.get(provider);
    const expectedMs = expectedDuration(speeds, { lines, workspaceId, backlog });
    return quoteBatch({ workspaceId, lane: 'managed', ownKey, estimate, expectedMs, past: await past });
  }

  private async readLane(provider: string): Promise<LaneState> {
    const [speeds, backlog] = await Promise.all([this.workers.speeds(provider), this.quotes.backlog(provider)]);
    return { speeds, backlog };
  }
}
