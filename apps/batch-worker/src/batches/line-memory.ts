import type { SegmentLease } from '@libs/persistence';
import type { LineTries } from './held-segment';
import { leaseName } from './lease-name';

/** Most lines that are remembered; above that, those given back first are dropped. */
const MOST_LINES = 20_000;

/** Remembers the tries of lines whose segments were given back, in case this worker gets them again. */
export class LineMemory {
  private readonly segments = new Map<string, ReadonlyMap<number, LineTries>>();
  private lines = 0;

  constructor(private readonly mostLines = MOST_LINES) {}

  keep(lease: SegmentLease, lines: ReadonlyMap<number, LineTries>): void {
    this.take(lease);
    if (lines.size === 0) return;
    this.segments.set(leaseName(lease), lines);
    this.lines += lines.size;
    for (const [name, { size }] of this.segments) {
      if (this.lines <= this.mostLines) break;
      this.segments.delete(name);
      this.lines -= size;
    }
  }

  /** Returns the tries of a segment's lines by position in the batch, and removes them. */
  take(lease: SegmentLease): ReadonlyMap<number, LineTries> {
    const name = leaseName(lease);
    const known = this.segments.get(name) ?? new Map<number, LineTries>();
    if (this.segments.delete(name)) this.lines -= known.size;
    return known;
  }
}
