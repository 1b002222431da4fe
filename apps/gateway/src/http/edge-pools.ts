import { ClosableConnections } from './closable-connections';
import { MemoryBudget } from './memory-budget';
import { SharedPool } from '@libs/contracts';

const MEBIBYTE = 1024 * 1024;

/** One workspace alone gets four fifths of the places, and one organization eight ninths. */
export const TENANT_WEIGHTS = [4, 8] as const;
/** One source address alone gets half: it may be that of a proxy, or of a large network. */
const SOURCE_WEIGHTS = [1] as const;
/** Public requests are few and short. */
const PUBLIC_PART = 1 / 4;

export interface EdgePoolOptions {
  /** Requests with a credential that are worked on at once. */
  readonly inFlight: number;
  /** Requests with a credential whose bodies arrive at once. */
  readonly arriving: number;
  readonly memoryBytes: number;
}

/** Everything that requests share in this process. Callers without a credential never take what others need. */
export class EdgePools {
  readonly working: SharedPool;
  readonly arriving: SharedPool;
  readonly publicWorking: SharedPool;
  readonly publicArriving: SharedPool;
  readonly memory: MemoryBudget;
  readonly connections = new ClosableConnections();

  constructor({ inFlight = 4_096, arriving = 1_024, memoryBytes = 256 * MEBIBYTE }: Partial<EdgePoolOptions> = {}) {
    this.working = new SharedPool(inFlight, TENANT_WEIGHTS);
    this.arriving = new SharedPool(arriving, TENANT_WEIGHTS);
    this.publicWorking = new SharedPool(partOf(inFlight), SOURCE_WEIGHTS);
    this.publicArriving = new SharedPool(partOf(arriving), SOURCE_WEIGHTS);
    this.memory = new MemoryBudget(memoryBytes);
  }
}

function partOf(size: number): number {
  return Math.max(8, Math.ceil(size * PUBLIC_PART));
}
