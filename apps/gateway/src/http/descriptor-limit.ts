import { readFileSync } from 'node:fs';

/** For files, the broker, Redis, PostgreSQL, children and the health port. */
const OTHER_DESCRIPTORS = 256;

export interface DescriptorNeeds {
  readonly maxConnections: number;
  /** Each may hold a connection to a provider. */
  readonly maxRequestsInFlight: number;
}

/** How many file descriptors this process may have open; null where the system does not say. */
export function descriptorLimit(file = '/proc/self/limits'): number | null {
  if (process.platform !== 'linux') return null;
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync(file, 'utf8')) ?? [];
  if (soft === undefined) return null;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Returns a warning when the process would run out of descriptors before it reaches its own limits, else null. */
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
