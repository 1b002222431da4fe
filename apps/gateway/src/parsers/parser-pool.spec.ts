import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ParserPool, type ParserOutcome } from './parser-pool';
import type { ParserTask } from './parser-process';
import { doorsBomb } from './testing/pdf-bombs';
import { cpuOf, isAlive, until } from './testing/processes';
import { outsideWork } from './testing/outside-work';
import { tinyPdf } from './testing/tiny-pdf';

const LONG_MS = 60_000;
const never = outsideWork();

const json = (text: string, timeoutMs = LONG_MS): ParserTask => ({
  parser: 'json-repair',
  settings: {},
  payload: Buffer.from(text),
  timeoutMs,
});
const pdf = (bytes: Uint8Array): ParserTask => ({
  parser: 'pdf-text',
  settings: { maxPages: 9, maxCharacters: 1_000, pagesMs: LONG_MS },
  payload: bytes,
  timeoutMs: LONG_MS,
});
/** A text that takes as long as it may. */
const slow = json(`[${'{'.repeat(900_000)}`);
const RUN_TYPESCRIPT = join(__dirname, '../../../../libs/platform/src/testing/typescript-register.cjs');
/** Runs a task while the process has no file descriptor left, and another when it has them back. */
const WITHOUT_DESCRIPTORS = `
  const { openSync, closeSync } = require('node:fs');
  const { ParserPool } = require(${JSON.stringify(join(__dirname, 'parser-pool.ts'))});
  const pool = new ParserPool();
  const task = { parser: 'json-repair', settings: {}, payload: Buffer.from('{"a": 1'), timeoutMs: ${LONG_MS} };
  const run = () => pool.run(task, { holders: ['workspace', 'organization'], signal: new AbortController().signal });
  const held = [];
  (async () => {
    try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {}
    const states = [(await run()).state];
    for (const descriptor of held) closeSync(descriptor);
    states.push((await run()).state);
    await pool.onApplicationShutdown();
    process.stdout.write('states: ' + states.join(' '));
  })();`;
const REPAIRED: ParserOutcome = { state: 'done', value: '{"a": 1}' };

jest.setTimeout(2 * LONG_MS);

describe(ParserPool.name, () => {
  let pool: ParserPool;

  const make = (limits: ConstructorParameters<typeof ParserPool>[0] = {}): ParserPool =>
    (pool = new ParserPool({ maxWaitMs: LONG_MS, ...limits }));

  afterEach(() => pool.onApplicationShutdown());

  it('has no child before there is work, and one child for one task after another', async () => {
    make();
    expect(pool.pids).toEqual([]);
    expect(await pool.run(json('{"a": 1,}'), never)).toEqual(REPAIRED);
    const [pid] = pool.pids;
    expect(await pool.run(json('{"a": 1'), never)).toEqual(REPAIRED);
    expect(await pool.run(pdf(tinyPdf(['Text'])), never)).toMatchObject({ value: { text: 'Text', title: 'A title' } });
    expect(pool.pids).toEqual([pid]);
  });

  it('kills a child whose time is up, and gives the next task another', async () => {
    make();
    expect(await pool.run({ ...slow, timeoutMs: 200 }, never)).toEqual({ state: 'timeout' });
    expect(pool.pids).toEqual([]);
    expect(await pool.run(json('{"a": 1,}'), never)).toEqual(REPAIRED);
  });

  it('reports a file that takes more memory than a child may have', async () => {
    make();
    expect(await pool.run(pdf(doorsBomb()), never)).toMatchObject({ state: 'broken' });
    expect(pool.pids).toEqual([]);
  });

  it('lets other tasks go on when a child dies', async () => {
    make();
    await pool.run(json('{'), never);
    const [victim] = pool.pids;
    const beforeTask = cpuOf(victim!);
    const ended = pool.run(slow, never);
    const other = pool.run(pdf(tinyPdf(['Text'])), never);
    await until(() => cpuOf(victim!) > beforeTask + 10);
    process.kill(victim!, 'SIGKILL');
    expect(await ended).toMatchObject({ state: 'broken' });
    expect(await other).toMatchObject({ state: 'done' });
  });

  it('refuses a task while no file descriptor is free, and does the next one', () => {
    const { status, stdout } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 256 && exec "$0" -r "$1" -e "$2"', process.execPath, RUN_TYPESCRIPT, WITHOUT_DESCRIPTORS],
      { encoding: 'utf8', env: { PATH: process.env.PATH } },
    );
    expect({ status, states: /states: (.*)/.exec(stdout)?.[1] }).toEqual({ status: 0, states: 'refused done' });
  });

  it('replaces an idle child that died', async () => {
    make();
    await pool.run(json('{'), never);
    const [victim] = pool.pids;
    process.kill(victim!, 'SIGKILL');
    await until(() => !isAlive(victim!));
    expect(await pool.run(json('{"a": 1'), never)).toEqual(REPAIRED);
  });

  it('keeps to its number of children, and to fewer for one parser', async () => {
    make({ maxProcesses: 2, maxPerParser: 1 });
    const outcomes: string[] = [];
    const note = (name: string, task: ParserTask): Promise<number> =>
      pool.run(task, never).then(({ state }) => outcomes.push(`${name} ${state}`));
    const all = [
      note('slow', { ...slow, timeoutMs: 3_000 }),
      note('behind it', json('{')),
      note('file', pdf(tinyPdf(['x']))),
    ];
    await Promise.all(all);
    expect(outcomes).toEqual(['file done', 'slow timeout', 'behind it done']);
    expect(pool.pids.length).toBeLessThanOrEqual(2);
  });

  it('refuses what would wait with too many others, or has waited too long', async () => {
    make({ maxProcesses: 1, maxWaiting: 1, maxWaitMs: 50 });
    const first = pool.run({ ...slow, timeoutMs: 2_000 }, never);
    const waits = pool.run(json('{'), never);
    expect(await pool.run(json('{'), never)).toEqual({ state: 'refused' });
    expect(await waits).toEqual({ state: 'refused' });
    expect(await first).toEqual({ state: 'timeout' });
  });

  it('kills the child of a caller who leaves, and forgets one who leaves while waiting', async () => {
    make({ maxProcesses: 1 });
    await pool.run(json('{'), never);
    const [pid] = pool.pids;
    const caller = new AbortController();
    const working = pool.run(slow, outsideWork({ signal: caller.signal }));
    const waiting = pool.run(json('{'), outsideWork({ signal: caller.signal }));
    caller.abort(new Error('left'));
    await expect(working).rejects.toThrow('left');
    await expect(waiting).rejects.toThrow('left');
    await until(() => !isAlive(pid!));
    expect(await pool.run(json('{"a": 1'), never)).toEqual(REPAIRED);
  });

  it('ends children that have nothing to do', async () => {
    make({ idleMs: 10 });
    await pool.run(json('{'), never);
    await until(() => pool.pids.length === 0);
  });

  it('ends every child when it is closed, and takes no more tasks', async () => {
    make();
    await Promise.all([pool.run(json('{'), never), pool.run(pdf(tinyPdf(['x'])), never)]);
    const working = pool.run(slow, never);
    const { pids } = pool;
    expect(pids.length).toBeGreaterThan(0);
    await pool.onApplicationShutdown();
    expect(pids.filter(isAlive)).toEqual([]);
    expect((await working).state).not.toBe('done');
    expect(await pool.run(json('{'), never)).toEqual({ state: 'refused' });
  });
});
