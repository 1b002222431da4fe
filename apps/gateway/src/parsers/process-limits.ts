import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Memory that a child may use in addition to what it has when it is ready: heap, buffers and stacks together. */
export const CHILD_HEADROOM_BYTES = 48 * 1024 * 1024;
/** Processor time of a child in its whole life. The gateway ends it earlier, unless the gateway itself has ended. */
const CPU_SECONDS = 30;
const PRLIMIT = '/usr/bin/prlimit';
const TIMEOUT_MS = 10_000;

/**
 * Sets the kernel's limits of a child that is ready: memory, processor time, no written files, no core dump, no further
 * file descriptor (file, socket or pipe), no further thread or process. The last limit does not apply to root.
 *
 * The memory limit is that of writable private memory (RLIMIT_DATA), so it counts V8's heap, array buffers and zlib
 * alike, but not the address space that V8 only reserves. An allocation beyond it fails in the child at once. Only
 * Linux has it; on other systems, which are not used in production, children have V8's limits and their deadlines.
 * @throws Error if the limits cannot be set
 */
export async function limitProcess(pid: number): Promise<void> {
  if (process.platform !== 'linux') return;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const dataKib = Number(/^VmData:\s+(\d+) kB$/m.exec(status)?.[1]);
  const limits = [
    `--data=${dataKib * 1024 + CHILD_HEADROOM_BYTES}`,
    `--cpu=${CPU_SECONDS}`,
    '--core=0',
    '--fsize=0',
    '--nofile=0',
    '--nproc=0',
  ];
  await execute(PRLIMIT, [`--pid=${pid}`, ...limits], { env: {}, timeout: TIMEOUT_MS });
}
