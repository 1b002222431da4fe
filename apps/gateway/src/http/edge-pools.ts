import { ClosableConnections } from './closable-connections';
import { MemoryBudget } from './memory-budget';
import { SharedPool } from '@libs/contracts';

const MEBIBYTE = 1024 * 1024;

/** One workspace may use four fifths of the slots, and one organization eight ninths. */
export const TENANT_WEIGHTS = [4, 8] as const;
/** One source address may use half of the slots: it may belong to a proxy, or to a large network. */
const SOURCE_WEIGHTS = [1] as const;
/** Public requests are few and short. */
const PUBLIC_PART = 1 / 4;

export interface EdgePoolOptions {
  /** Authenticated requests that run at the same time. */
  readonly inFlight: number;
  /** Authenticated requests whose bodies arrive at the same time. */
  readonly arriving: number;
  readonly memoryBytes: number;
}

/** All pools that requests of this process share. Callers without a credential have pools of their own. */
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
