import { readFileSync } from 'node:fs';

/** File descriptors for files, the broker, Redis, PostgreSQL, child processes and the health port. */
const OTHER_DESCRIPTORS = 256;

export interface DescriptorNeeds {
  readonly maxConnections: number;
  /** Each request in flight may hold a connection to a provider. */
  readonly maxRequestsInFlight: number;
}

/** Returns how many file descriptors this process may open; null if the system does not report it. */
export function descriptorLimit(file = '/proc/self/limits'): number | null {
  if (process.platform !== 'linux') return null;
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync(file, 'utf8')) ?? [];
  if (soft === undefined) return null;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Returns a warning if the process would run out of descriptors before it reaches its own limits; otherwise null. */
export function descriptorWarning(
  limit: number | null,
  { maxConnections, maxRequestsInFlight }: DescriptorNeeds,
): string | null {
  const needed = maxConnections + maxRequestsInFlight + OTHER_DESCRIPTORS;
  if (limit === null || limit >= needed) return null;
  return (
    `This process may open ${limit} files, and MAX_CONNECTIONS (${maxConnections}) with MAX_REQUESTS_IN_FLIGHT ` +
    `(${maxRequestsInFlight}) need up to ${needed}: raise the limit of open files (ulimit -n) or lower these settings`
  );
}
