import { createWriteStream, mkdirSync, writeFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import type {
  BatchRecord,
  BatchSubmission,
  CallRecord,
  DeathRecord,
  FaultRecord,
  KeyRecord,
  RequestRecord,
  VideoRecord,
} from './evidence';
import type { ProcessName } from './parts';

/** What happened in a storm, in memory for the checker and as JSON lines in a file for people. */
export class StormHistory {
  readonly calls: CallRecord[] = [];
  readonly requests: RequestRecord[] = [];
  readonly batchSubmissions: BatchSubmission[] = [];
  readonly batches: BatchRecord[] = [];
  readonly keys: KeyRecord[] = [];
  readonly videoSubmissions: string[] = [];
  readonly videos: VideoRecord[] = [];
  readonly faults: FaultRecord[] = [];
  readonly deaths: DeathRecord[] = [];
  /** Set once every fault has ended. */
  isCalm = false;
  readonly #file: WriteStream;

  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#file = createWriteStream(join(folder, 'history.jsonl'));
  }

  get path(): string {
    return join(this.folder, 'history.jsonl');
  }

  /** Writes one event; `at` is when it is written. */
  note(type: string, event: object): void {
    this.#file.write(`${JSON.stringify({ at: Date.now(), type, ...event })}\n`);
  }

  addCall(call: CallRecord): void {
    this.calls.push(call);
    this.note('call', { ...call, text: call.text.slice(0, 80) });
  }

  addRequest(request: RequestRecord): void {
    this.requests.push(request);
    this.note('request', request);
  }

  /** Call before the batch is asked for: it may be accepted although no answer comes. */
  addBatchSubmission(submission: BatchSubmission): void {
    this.batchSubmissions.push(submission);
    const { name, endpoint, lines } = submission;
    this.note('batch-submission', { name, endpoint, lines: lines.length });
  }

  addBatch(batch: BatchRecord): void {
    this.batches.push(batch);
    const { id, submission, lane, endpoint, model, lines } = batch;
    this.note('batch-accepted', { id, submission, lane, endpoint, model, lines: lines.length });
  }

  addKey(key: KeyRecord): void {
    this.keys.push(key);
    this.note('key', key);
  }

  /** Call before the video is asked for. */
  addVideoSubmission(name: string): void {
    this.videoSubmissions.push(name);
    this.note('video-submission', { name });
  }

  addVideo(video: VideoRecord): void {
    this.videos.push(video);
    this.note('video-accepted', video);
  }

  addFault(fault: FaultRecord): void {
    this.faults.push(fault);
    this.note('fault', fault);
  }

  addDeath(death: DeathRecord): void {
    this.deaths.push(death);
    this.note('death', death);
  }

  /** Notes that a process takes work again after all of its deaths so far. */
  noteBack(process: ProcessName, atMs: number): void {
    for (const death of this.deaths) {
      if (death.process === process) death.backMs ??= atMs;
    }
    this.note('back', { process });
  }

  /** Writes another file into the folder of the history. */
  keep(name: string, value: unknown): void {
    writeFileSync(join(this.folder, name), `${JSON.stringify(value, null, 2)}\n`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(() => resolve()));
  }
}
