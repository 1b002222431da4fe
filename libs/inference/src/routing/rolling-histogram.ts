/** Each bucket is an eighth of a doubling wide, so a percentile is wrong by at most 4.5 %. */
const BUCKETS_PER_DOUBLING = 8;
const BUCKETS = 20 * BUCKETS_PER_DOUBLING;
const MOST_PER_BUCKET = 65_535;
/** Because of rounding, 1 - 0.99 is slightly more than 0.01. */
const ROUNDING = 1e-6;

/** A rolling time window of slices: the current one and those before it. */
export interface RollingTime {
  readonly sliceMs: number;
  readonly slices: number;
}

/**
 * Histogram of values from 1 to about a million in a rolling time window. Smaller and larger values count in the
 * outermost buckets.
 */
export class RollingHistogram {
  readonly #slices: readonly Uint16Array[];
  readonly #sums = new Uint32Array(BUCKETS);
  #count = 0;
  #running: number;

  constructor(
    nowMs: number,
    private readonly time: RollingTime,
  ) {
    this.#slices = Array.from({ length: time.slices }, () => new Uint16Array(BUCKETS));
    this.#running = Math.floor(nowMs / time.sliceMs);
  }

  add(value: number, nowMs: number): void {
    this.#advance(nowMs);
    const slice = this.#slices[this.#running % this.time.slices]!;
    const bucket = bucketOf(value);
    if (slice[bucket]! >= MOST_PER_BUCKET) return;
    slice[bucket]! += 1;
    this.#sums[bucket]! += 1;
    this.#count += 1;
  }

  quantile(share: number, nowMs: number): number | null {
    this.#advance(nowMs);
    if (this.#count === 0) return null;
    const wanted = Math.max(1, Math.ceil(share * this.#count - ROUNDING));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      seen += this.#sums[bucket]!;
      if (seen >= wanted) return middleOf(bucket);
    }
    return middleOf(BUCKETS - 1);
  }

  /** Empties the slices that have passed since the last call. */
  #advance(nowMs: number): void {
    const { sliceMs, slices } = this.time;
    const running = Math.floor(nowMs / sliceMs);
    if (running <= this.#running) return;
    const first = Math.max(this.#running + 1, running - slices + 1);
    for (let each = first; each <= running; each += 1) this.#forget(this.#slices[each % slices]!);
    this.#running = running;
  }

  #forget(slice: Uint16Array): void {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#sums[bucket]! -= slice[bucket]!;
      this.#count -= slice[bucket]!;
    }
    slice.fill(0);
  }
}

function bucketOf(value: number): number {
  if (!(value > 1)) return 0;
  return Math.min(BUCKETS - 1, Math.floor(Math.log2(value) * BUCKETS_PER_DOUBLING));
}

function middleOf(bucket: number): number {
  return 2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING);
}
