import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { attemptOf, leftCallOf, type NativeJob, type NativeLine } from '@libs/inference';
import {
  BatchResultsRepository,
  NativeBatchesRepository,
  NativeSegmentsRepository,
  type LineOutcome,
  type NativeBatch,
  type NativeSegment,
} from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import { apiOf } from '../batches/batch-candidate';
import { answered, charged, generationIdOf, refused, type LinePlace } from '../batches/line-outcome';
import { withReportedLosses } from '../batches/reported-losses';
import { storeAllOutcomes } from '../batches/store-outcomes';
import { seqOf, type Reach } from './native-reach';

/** Answers that are committed together. */
const GROUP_LINES = 128;
const GROUP_BYTES = 4 * 1024 * 1024;

interface Group {
  readonly lines: { readonly seq: number; readonly segment: NativeSegment; readonly line: NativeLine }[];
  bytes: number;
}

/** The result of reading a job's outputs. */
export interface Collected {
  readonly stored: number;
  /** Lines with the order's reference; below, lines without it. */
  readonly own: number;
  readonly foreign: number;
  /** Number of different lines of the order that were answered. */
  readonly answers: number;
}

/**
 * Turns a provider's outputs into results, a group at a time: result, usage and charge of a line are one commit, and a
 * line has one result however often the outputs are read. Lines may come in any order. A line that is missing,
 * unreadable, expired, or failed with an error that a single call may avoid gets no result here; in the end it is run
 * as a single call.
 */
@Injectable()
export class NativeCollectionService {
  private readonly logger = new Logger(NativeCollectionService.name);

  constructor(
    private readonly orders: NativeBatchesRepository,
    private readonly segments: NativeSegmentsRepository,
    private readonly results: BatchResultsRepository,
    private readonly env: ServicesEnv,
  ) {}

  async collect(order: NativeBatch, job: NativeJob, reach: Reach): Promise<Collected> {
    await this.orders.wrote(order, job.outputs);
    const held = await this.segments.held(order);
    const counts = { stored: 0, own: 0, foreign: 0, answers: 0 };
    const isAnswered = new Uint8Array(order.lastSeq - order.firstSeq + 1);
    let group: Group = { lines: [], bytes: 0 };
    for await (const line of reach.lane.batches.download(job, reach.reading)) {
      const seq = seqOf(order, line.customId);
      if (seq === null) {
        counts.foreign += 1;
        continue;
      }
      counts.own += 1;
      if (line.kind === 'answer') {
        counts.answers += 1 - isAnswered[seq - order.firstSeq]!;
        isAnswered[seq - order.firstSeq] = 1;
      }
      const segment = segmentOf(held, seq);
      if (segment === null || line.kind === 'not-run') continue;
      group.lines.push({ seq, segment, line });
      group.bytes += line.kind === 'answer' ? line.body.length : 0;
      if (group.lines.length < GROUP_LINES && group.bytes < GROUP_BYTES) continue;
      counts.stored += await this.store(order, group, reach);
      group = { lines: [], bytes: 0 };
    }
    counts.stored += await this.store(order, group, reach);
    this.logger.log(`order ${order.reference}: ${counts.stored} results of ${order.sentLines ?? 0} lines`);
    return counts;
  }

  private async store(order: NativeBatch, { lines }: Group, reach: Reach): Promise<number> {
    if (lines.length === 0) return 0;
    const requests = await this.segments.lines(
      order,
      lines.map(({ seq }) => seq),
    );
    const outcomes: LineOutcome[] = [];
    for (const { seq, segment, line } of lines) {
      const request = requests.get(seq);
      if (request === undefined) continue;
      const place = { lease: segment, batchId: order.batchId, seq, customId: request.customId };
      const outcome = await this.outcomeOf(line, place, { order, reach, requestBody: request.body });
      if (outcome !== null) outcomes.push(outcome);
    }
    if (outcomes.length === 0) return 0;
    return storeAllOutcomes(this.results, outcomes, this.logger);
  }

  /** Returns the result that a line gets; null if a single call may succeed instead. */
  private async outcomeOf(
    line: NativeLine,
    place: LinePlace,
    { order, reach: { lane, candidate }, requestBody }: AskedLine,
  ): Promise<LineOutcome | null> {
    if (line.kind === 'not-run') return null;
    try {
      const generationId = generationIdOf(place);
      const answer = await lane.read(line.kind === 'answer' ? { body: line.body } : { error: line.error }, {
        candidate,
        generationId,
        requestBody,
      });
      const from = apiOf(order.endpoint);
      const served = { ...answer, ...candidate, attempts: [attemptOf(from, candidate, null, 0)] };
      const route = { requested: order.model, from, to: () => lane.upstreamApi };
      const body = withReportedLosses(this.env.SERVICE_NAME, served, route);
      return answered(place, { ...answer, body, status: 200 });
    } catch (thrown) {
      const error = AppError.from(thrown);
      const left = leftCallOf(error);
      if (left !== null) return charged(refused(place, error), left);
      return error.retryable ? null : refused(place, error);
    }
  }
}

/** A line as it was sent in an order. */
interface AskedLine {
  readonly order: NativeBatch;
  readonly reach: Reach;
  readonly requestBody: Buffer;
}

/** Segments are in order and do not overlap. */
function segmentOf(segments: readonly NativeSegment[], seq: number): NativeSegment | null {
  let low = 0;
  let high = segments.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const segment = segments[middle]!;
    if (seq < segment.firstSeq) high = middle - 1;
    else if (seq > segment.lastSeq) low = middle + 1;
    else return segment;
  }
  return null;
}
