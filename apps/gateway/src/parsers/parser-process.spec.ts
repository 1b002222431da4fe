import { readFileSync } from 'node:fs';
import { ParserProcess, type ParserName, type TaskOutcome } from './parser-process';
import { CHILD_HEADROOM_BYTES } from './process-limits';
import type { ProbeSettings } from './testing/probe';
import { isAlive, until } from './testing/processes';

const PROBE = 'testing/probe' as ParserName;
const ESCAPES = 'testing/escapes' as ParserName;
const LONG_MS = 60_000;
const never = new AbortController().signal;

jest.setTimeout(2 * LONG_MS);

describe(ParserProcess.name, () => {
  let child: ParserProcess;

  beforeEach(async () => {
    child = await ParserProcess.start([PROBE, ESCAPES, 'json-repair']);
  });
  afterEach(() => child.end());

  const probe = (wish: ProbeSettings['wish']): Promise<TaskOutcome> =>
    child.run({ parser: PROBE, settings: { wish }, payload: Buffer.alloc(0), timeoutMs: LONG_MS }, never);

  it('gives parsers no files, network, programs, threads, signals, modules, bindings or secrets', async () => {
    const environment = ['MALLOC_ARENA_MAX', 'UV_THREADPOOL_SIZE'];
    const task = { parser: ESCAPES, settings: {}, payload: Buffer.alloc(0), timeoutMs: LONG_MS };
    expect(await child.run(task, never)).toEqual({ state: 'done', value: { succeeded: [], environment } });
  });

  it('has limits of the kernel on memory, processor time, files and dumps', () => {
    const limits = readFileSync(`/proc/${child.pid}/limits`, 'utf8');
    const soft = (name: string): number => Number(new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(limits)?.[1]);
    const dataKib = Number(/^VmData:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]);
    expect(soft('Max data size') - dataKib * 1_024).toBeLessThanOrEqual(CHILD_HEADROOM_BYTES);
    expect(soft('Max cpu time')).toBe(30);
    expect(soft('Max file size')).toBe(0);
    expect(soft('Max core file size')).toBe(0);
    // None beyond those that it has: of files, sockets and pipes alike.
    expect(/^Max open files +0 +0 /m.test(limits)).toBe(true);
    expect(/^Max processes +0 +0 /m.test(limits)).toBe(true);
  });

  it.each(['memory', 'long answer', 'noise', 'crash'] as const)('is killed for %s, and harms nothing', async (wish) => {
    const outcome = await probe(wish);
    expect(outcome.state).toBe('broken');
    await until(() => !isAlive(child.pid));
    expect(child.isAlive).toBe(false);
  });

  it('says of a task that it had no part in the death of a child that was gone before', async () => {
    process.kill(child.pid, 'SIGKILL');
    const task = { parser: 'json-repair', settings: {}, payload: Buffer.from('{'), timeoutMs: LONG_MS } as const;
    expect(await child.run(task, never)).toEqual({ state: 'lost' });
  });
});
