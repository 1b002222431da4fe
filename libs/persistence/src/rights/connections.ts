import type { AppName } from '@libs/contracts';

/** Connections to PostgreSQL that one process of an app may open. More would only wait inside PostgreSQL. */
export const POOL_SIZES: Readonly<Record<AppName, number>> = {
  gateway: 16,
  'batch-worker': 8,
  'video-worker': 10,
  credentials: 10,
  auth: 10,
};

/** Two processes, and one more while an update replaces them. */
const PROCESSES = 3;

/** Returns how many connections a new login may open in total unless the operator sets a number. */
export const connectionsOf = (app: AppName): number => PROCESSES * POOL_SIZES[app];
