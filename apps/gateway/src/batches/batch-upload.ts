import { createHash, type Hash } from 'node:crypto';
import { AppError } from '@libs/errors';
import {
  BatchLineEncoder,
  type BatchIdempotency,
  type BatchIntakeRepository,
  type BatchKey,
  type BatchOwner,
  type SegmentRange,
  type Session,
} from '@libs/persistence';
import { BatchBodySplitter } from './batch-body-splitter';
import { BatchEstimate } from './batch-estimate';
import { BatchHeaderReader, type BatchHeader } from './batch-header';
import { readBatchLine } from './batch-line';
import type { IntakeTurns } from '../submissions/intake-turns';

/** 200 MB, counted as 200 · 2^20. */
export const MAX_BATCH_BYTES = 209_715_200;
export const MAX_BATCH_LINES = 500_000;

const MAX_ITEM_BYTES = 5 * 1024 * 1024;
const MAX_MEMBER_BYTES = 64 * 1024;
/** Deepest nesting of an element of `requests`: its body is one level down, and a body may have 64 levels. */
const MAX_ITEM_DEPTH = 65;

/** Form of ids that every provider's batch API accepts. */
const PLAIN_CUSTOM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Bytes that are collected in memory before they are written. */
const SLICE_BYTES = 8 * 1024 * 1024;
const RECEIVING_LEASE_MS = 120_000;
/**
 * Longest time until the data of a slow sender is written, however little it is, because each write renews the lease.
 * Together with the longest allowed silence of a sender it is shorter than the lease.
 */
const LONGEST_SLICE_MS = 30_000;

/**
 * Lines of a segment, which is the unit that a worker leases: small enough to spread work, large enough to be worth a
 * claim.
 */
const SEGMENT_LINES = 128;
const SEGMENT_BYTES = 1024 * 1024;

/**
 * The data that is written in one transaction. It is taken from memory once, before the transaction, which may run
 * twice.
 */
export interface UploadSlice {
  /** Encoded, valid until the next line arrives. */
  readonly lines: Buffer;
  readonly segments: readonly SegmentRange[];
}

/**
 * One upload of POST /batches while it arrives: split into lines, checked, and written in slices for a batch that is
 * not visible yet. Needs the memory of one slice and one line, whatever the size of the batch.
 */
export class BatchUpload {
  readonly startedMs = Date.now();
  readonly estimate = new BatchEstimate();
  private readonly header = new BatchHeaderReader();
  private readonly splitter: BatchBodySplitter;
  private readonly encoder: BatchLineEncoder;
  private readonly hash: Hash | null;
  private bytes = 0;
  private lines = 0;
  /** True if parts of the batch may be stored, even if the transaction failed. */
  private mayBeStored = false;
  private sliceWritten = false;
  private sliceWrittenAtMs = 0;
  private lineModel: { name: string; index: number } | null = null;
  private firstUnusualId: number | null = null;
  private segments: SegmentRange[] = [];
  private segmentNumber = 0;
  private segmentFirstSeq = 0;
  private segmentBytes = 0;

  constructor(
    readonly key: BatchKey,
    private readonly owner: BatchOwner,
    private readonly intake: BatchIntakeRepository,
    private readonly idempotencyKey: string | null,
    private readonly turns: Pick<IntakeTurns, 'run'>,
    /** Aborts when the request ends early. */
    private readonly signal?: AbortSignal,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.hash = idempotencyKey === null ? null : createHash('sha256');
    this.encoder = new BatchLineEncoder(key.createdOn, key.number, SLICE_BYTES);
    this.splitter = new BatchBodySplitter(
      {
        onMember: (name, json) => this.header.read(name, json),
        onItem: (index, json) => this.addLine(index, json),
      },
      { maxItemBytes: MAX_ITEM_BYTES, maxMemberBytes: MAX_MEMBER_BYTES, maxDepth: MAX_ITEM_DEPTH },
    );
  }

  get lineCount(): number {
    return this.lines;
  }

  /** @throws AppError invalid_request | payload_too_large | unprocessable */
  async write(chunk: Buffer): Promise<void> {
    this.bytes += chunk.length;
    if (this.bytes > MAX_BATCH_BYTES) throw tooLarge();
    this.hash?.update(chunk);
    this.splitter.write(chunk);
    if (this.encoder.size >= SLICE_BYTES || this.isLeaseOld()) {
      const slice = this.takeSlice();
      this.mayBeStored = true;
      const write = (): Promise<void> => this.intake.slice((session) => this.writeSlice(session, slice));
      await this.turns.run(this.owner, write, this.signal);
      this.sliceWritten = true;
      this.sliceWrittenAtMs = this.nowMs();
    }
  }

  private isLeaseOld(): boolean {
    return this.sliceWritten && this.nowMs() - this.sliceWrittenAtMs >= LONGEST_SLICE_MS;
  }

  /** Returns the header fields of the complete body. @throws AppError invalid_request | unprocessable */
  finish(): BatchHeader {
    this.splitter.end();
    const header = this.header.finish();
    if (this.lines === 0) throw missingRequests();
    if (this.lineModel !== null && this.lineModel.name !== header.model) throw otherModel(this.lineModel.index);
    this.closeSegment();
    return header;
  }

  /**
   * @throws AppError unprocessable for the first line whose custom_id contains characters that the provider's batch API
   * refuses
   */
  requirePlainIds(): void {
    if (this.firstUnusualId === null) return;
    const param = `requests[${this.firstUnusualId}].custom_id`;
    throw new AppError('unprocessable', `${param} must be 1 to 64 letters, digits, - or _ for this provider`, {
      metadata: { param },
    });
  }

  /** Call once, after `finish`. */
  takeIdempotency(): BatchIdempotency | null {
    if (this.idempotencyKey === null || this.hash === null) return null;
    return { key: this.idempotencyKey, requestHash: this.hash.digest('hex') };
  }

  /** Removes the collected lines from memory and returns them. */
  takeSlice(): UploadSlice {
    const { segments } = this;
    this.segments = [];
    return { lines: this.encoder.take(), segments };
  }

  /** Writes the slice within the session's transaction. */
  async writeSlice(session: Session, { lines, segments }: UploadSlice): Promise<void> {
    const lease = { leaseMs: RECEIVING_LEASE_MS, isBegun: this.sliceWritten };
    const partition = await this.intake.keepReceiving(session, this.key, this.owner, lease);
    await this.intake.copyLines(session, partition, lines);
    if (segments.length > 0) await this.intake.addSegments(session, this.key, segments);
  }

  /**
   * Writes the last slice within the transaction that accepts the batch.
   * @throws AppError server if lines are missing
   */
  async writeLastSlice(session: Session, slice: UploadSlice): Promise<void> {
    await this.writeSlice(session, slice);
    await this.intake.requireWhole(session, this.key, this.lines);
  }

  /** Removes all rows of an upload that was refused or broke off. Does nothing to an accepted batch. */
  async discard(): Promise<void> {
    if (this.mayBeStored) await this.turns.run(this.owner, () => this.intake.discard(this.key));
  }

  private addLine(index: number, json: Buffer): void {
    if (index >= MAX_BATCH_LINES) {
      throw new AppError('payload_too_large', `requests has more than ${MAX_BATCH_LINES} elements`);
    }
    const line = readBatchLine(index, json);
    this.checkModel(index, line.model);
    if (this.firstUnusualId === null && !PLAIN_CUSTOM_ID.test(line.customId)) this.firstUnusualId = index;
    this.estimate.add(line);
    this.encoder.add(index, line.customId, line.body);
    this.lines = index + 1;
    this.segmentBytes += line.body.length;
    if (this.lines - this.segmentFirstSeq >= SEGMENT_LINES || this.segmentBytes >= SEGMENT_BYTES) this.closeSegment();
  }

  /** The model of the batch may come after its lines, so lines are first compared with each other. */
  private checkModel(index: number, model: string | null): void {
    if (model === null) return;
    if (this.lineModel === null) this.lineModel = { name: model, index };
    else if (this.lineModel.name !== model) throw otherModel(index);
  }

  private closeSegment(): void {
    if (this.lines === this.segmentFirstSeq) return;
    this.segments.push({ number: this.segmentNumber, firstSeq: this.segmentFirstSeq, lastSeq: this.lines - 1 });
    this.segmentNumber += 1;
    this.segmentFirstSeq = this.lines;
    this.segmentBytes = 0;
  }
}

export function tooLarge(): AppError {
  return new AppError('payload_too_large', `The batch input is larger than ${MAX_BATCH_BYTES} bytes`);
}

function missingRequests(): AppError {
  return new AppError('invalid_request', 'requests must be a non-empty array', { metadata: { param: 'requests' } });
}

function otherModel(index: number): AppError {
  const param = `requests[${index}].body.model`;
  return new AppError('invalid_request', `${param} differs from the model of the batch`, { metadata: { param } });
}
