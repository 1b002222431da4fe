import type { SegmentLease } from '@libs/persistence';

/** Returns a key for the segment of a lease, the same for every lease of it. */
export function leaseName({ batchNumber, number }: SegmentLease): string {
  return `${batchNumber}:${number}`;
}
