import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** Node's own is 64 KiB. */
const SMALL_BUFFERS_TOGETHER_BYTES = 8 * 1024;
/**
 * How far the heap may grow between full collections, in percent. V8's default is up to 300 on machines with much
 * memory.
 */
const HEAP_GROWTH_PERCENT = 50;

/**
 * Limits the memory that a process takes in addition to what it uses, in three ways that NODE_OPTIONS cannot.
 *
 * Small buffers are cut from shared slabs. One that is kept, such as the body of a request during a stream, keeps its
 * whole slab in memory. Objects that lived as long as a stream are in the old generation when they are released. Unless
 * the heap is collected before it has grown by a multiple, hundreds of finished streams remain in it at any time.
 *
 * Pretenuring is off. With it, V8 guesses from its first seconds which expressions create long-lived objects, and puts
 * these directly into the old generation. For calls the guess is wrong: each such object, with everything that it
 * refers to, stays after its call until the whole heap is collected. Without pretenuring a chat completion leaves less
 * than half as many bytes there, and takes 5 % less CPU time.
 *
 * Only for the gateway, which has thousands of concurrent callers. A batch worker keeps each line until its result is
 * committed, so all of its objects are in the old generation when they are released. There the same limits save 15 MiB
 * of 350 and cost a fifth of its time.
 */
export function limitProcessMemory(): void {
  Buffer.poolSize = SMALL_BUFFERS_TOGETHER_BYTES;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
}

const MEBIBYTE = 1024 * 1024;
/**
 * Share of the memory limit for requests. The rest is for the process itself, for answers, and for memory that is not
 * yet garbage-collected.
 */
const SHARE_OF_LIMIT = 0.5;
const LEAST_BUDGET_BYTES = 64 * MEBIBYTE;
const LARGEST_DEFAULT_BYTES = 1_024 * MEBIBYTE;

/**
 * Returns the bytes that requests may reserve together.
 *
 * @param setMib as the operator sets it; 0: by the limit of the container, or without one by the machine's memory
 */
export function memoryBudgetBytes(
  setMib: number,
  limitBytes: number = process.constrainedMemory(),
  machineBytes: number = totalmem(),
): number {
  if (setMib > 0) return setMib * MEBIBYTE;
  // Without a limit the system reports 0, or a number above the physical memory.
  const available = limitBytes > 0 ? Math.min(limitBytes, machineBytes) : machineBytes;
  const share = Math.floor(available * SHARE_OF_LIMIT);
  return Math.min(Math.max(share, LEAST_BUDGET_BYTES), LARGEST_DEFAULT_BYTES);
}

/**
 * Returns the bytes of answers that may be in memory while providers are sending them: a quarter of the memory for
 * requests.
 */
export function replyBudgetBytes(setMib: number): number {
  return Math.floor(memoryBudgetBytes(setMib) / 4);
}
