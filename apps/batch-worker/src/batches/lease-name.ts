import type { SegmentLease } from '@libs/persistence';

/** Returns a key for the segment of a lease; all leases of the segment have the same key. */
export function leaseName({ batchNumber, number }: SegmentLease): string {
  return `${batchNumber}:${number}`;
}
