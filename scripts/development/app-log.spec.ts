import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@libs/platform/testing';
import { AppLog } from './app-log';

describe(AppLog.name, () => {
  let folder: string;
  let file: string;
  let shown: string[];
  let log: AppLog;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-log-'));
    file = join(folder, 'auth.log');
    shown = [];
  });

  afterEach(() => {
    log.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (): void => {
    log = new AppLog({ name: 'auth', file, say: (line) => shown.push(line) });
  };

  /** The logger of an app that writes into the log. */
  const logger = () =>
    createLogger({ app: 'auth', level: 'info', destination: { write: (line) => log.take('stdout', line) } });

  it('writes every line to the file and shows warnings and errors', () => {
    open();
    logger().log('ready');
    logger().warn('slow');
    logger().warn('A call failed', { cause: 'ENOTFOUND' });
    logger().error('lost', new Error('no route'));
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(4);
    expect(shown).toEqual([
      '[auth] warning: slow',
      '[auth] warning: A call failed: ENOTFOUND',
      '[auth] error: lost: no route',
    ]);
  });

  it('puts a line together that arrives in pieces, without mixing the two streams', () => {
    open();
    log.take('stderr', 'bad ');
    log.take('stdout', 'good ');
    log.take('stderr', 'news\n');
    log.take('stdout', 'news\n');
    expect(shown).toEqual(['[auth] bad news']);
    expect(readFileSync(file, 'utf8')).toBe('bad news\ngood news\n');
  });

  it('stops showing a storm of warnings, and says where the rest is', () => {
    open();
    for (let i = 0; i < 100; i += 1) logger().warn(`warning ${i}`);
    expect(shown).toHaveLength(20);
    expect(shown.at(-1)).toBe(`[auth] … more of this in ${file}`);
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(100);
  });

  it('keeps the log of the run before beside the new one', () => {
    writeFileSync(file, 'yesterday\n');
    open();
    log.take('stdout', 'today\n');
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('yesterday\n');
    expect(readFileSync(file, 'utf8')).toBe('today\n');
  });

  it('starts another file when one has grown large, and never keeps more than two', () => {
    open();
    const megabyte = `${'x'.repeat(1024 * 1024 - 1)}\n`;
    for (let i = 0; i < 70; i += 1) log.take('stdout', megabyte);
    expect(existsSync(`${file}.1`)).toBe(true);
    expect(readFileSync(file).length + readFileSync(`${file}.1`).length).toBeLessThan(70 * 1024 * 1024);
  });
});
