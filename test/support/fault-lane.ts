import type { Socket } from 'node:net';
import { HEALTHY_LINK, type Direction, type LinkConditions } from './link-conditions';

/** A lane reads on while it passes nothing on; beyond this the sender feels backpressure. */
const MOST_WAITING_BYTES = 16 * 1_048_576;
const SLICE_PAUSE_MS = 1;
/** How often a limited link passes bytes on. */
const TICK_MS = 20;

interface Waiting {
  bytes: Buffer;
  readonly dueMs: number;
}

/** One direction of a proxied connection: a queue of bytes and the conditions under which they leave. */
export class FaultLane {
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #conditions: LinkConditions = HEALTHY_LINK;
  #timer: NodeJS.Timeout | undefined;
  #isBlocked = false;
  #hasEnded = false;

  constructor(
    private readonly direction: Direction,
    private readonly source: Socket,
    private readonly sink: Socket,
  ) {
    sink.on('drain', () => {
      this.#isBlocked = false;
      this.#pump();
    });
  }

  /** Takes effect at once, also for bytes that wait; their delay stays as it was when they came. */
  set conditions(conditions: LinkConditions) {
    this.#conditions = conditions;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pump();
  }

  /** Whether bytes were read and not passed on. */
  get isHoldingBytes(): boolean {
    return this.#waitingBytes > 0;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#waiting.push({ bytes, dueMs: performance.now() + this.#conditions.delayMs });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > MOST_WAITING_BYTES) this.source.pause();
    this.#pump();
  }

  /** The source has sent its last byte: the sink learns it after the bytes that wait. */
  end(): void {
    this.#hasEnded = true;
    this.#pump();
  }

  /** Drops what waits. */
  discard(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #pump(): void {
    while (!this.#isBlocked && this.#timer === undefined && !this.sink.destroyed) {
      if (this.#conditions.stalled.includes(this.direction)) return;
      const next = this.#waiting[0];
      if (next === undefined) {
        if (this.#hasEnded) this.sink.end();
        return;
      }
      const earlyMs = next.dueMs - performance.now();
      if (earlyMs > 0) return this.#pumpIn(earlyMs);
      this.#send(next);
    }
  }

  #send(next: Waiting): void {
    const { bytesPerSecond, sliceBytes } = this.#conditions;
    const most = Math.max(1, Math.floor(Math.min(sliceBytes, (bytesPerSecond * TICK_MS) / 1_000)));
    const part = next.bytes.subarray(0, most);
    if (part.length === next.bytes.length) this.#waiting.shift();
    else next.bytes = next.bytes.subarray(part.length);
    this.#waitingBytes -= part.length;
    if (this.#waitingBytes <= MOST_WAITING_BYTES) this.source.resume();
    this.#isBlocked = !this.sink.write(part);
    if (bytesPerSecond !== Infinity) this.#pumpIn((part.length / bytesPerSecond) * 1_000);
    else if (sliceBytes !== Infinity) this.#pumpIn(SLICE_PAUSE_MS);
  }

  #pumpIn(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, delayMs);
  }
}
