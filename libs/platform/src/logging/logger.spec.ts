import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { AppLogger, createLogger } from './logger';
import type { LoggedError } from './describe-error';
import type { LogLevel } from './log-levels';

interface LoggedLine {
  readonly level: string;
  readonly msg: string;
  readonly time: string;
  readonly err: LoggedError;
}

function record(level: LogLevel = 'trace') {
  const lines: string[] = [];
  let flushed = 0;
  const logger = createLogger({
    app: 'gateway',
    level,
    destination: { write: (line) => lines.push(line), flushSync: () => (flushed += 1) },
  });
  const last = () => JSON.parse(lines.at(-1) ?? 'null') as LoggedLine;
  return { logger, lines, last, flushes: () => flushed };
}

describe(AppLogger.name, () => {
  it('writes one JSON object per line with level, time, app and message', () => {
    const { logger, lines, last } = record();
    logger.log('Ready');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(last()).toMatchObject({ level: 'info', app: 'gateway', pid: process.pid, msg: 'Ready' });
    expect(Number.isNaN(Date.parse(last().time))).toBe(false);
  });

  it('knows the six levels of an operator under the names of Nest', () => {
    const { logger, lines } = record();
    logger.verbose('a');
    logger.debug('a');
    logger.log('a');
    logger.warn('a');
    logger.error('a');
    logger.fatal('a');
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
      'trace',
      'debug',
      'info',
      'warn',
      'error',
      'fatal',
    ]);
  });

  it('writes nothing below its level', () => {
    const { logger, lines } = record('warn');
    logger.log('no');
    logger.debug('no');
    logger.warn('yes');
    expect(lines).toHaveLength(1);
    expect(logger.isLevelEnabled('info')).toBe(false);
    expect(logger.isLevelEnabled('error')).toBe(true);
  });

  it('takes the last text for the context, as Nest does', () => {
    const { logger, last } = record();
    logger.log('Mapped', 'RouterExplorer');
    expect(last()).toMatchObject({ msg: 'Mapped', context: 'RouterExplorer' });
    logger.error('Broke', 'Error: x\n    at y (z.js:1:1)', 'ExceptionsHandler');
    expect(last()).toMatchObject({
      msg: 'Broke',
      context: 'ExceptionsHandler',
      stack: expect.stringContaining('at y'),
    });
    logger.error('Broke', 'Error: x\n    at y (z.js:1:1)');
    expect(last()).toMatchObject({ msg: 'Broke', stack: expect.stringContaining('at y') });
    expect(last()).not.toHaveProperty('context');
  });

  it('puts fields beside the message and keeps those of a child', () => {
    const { logger, last } = record();
    logger.child('BatchRunner', { batchId: 'b1' }).log('Claimed', { lines: 3 });
    expect(last()).toMatchObject({ msg: 'Claimed', context: 'BatchRunner', batchId: 'b1', lines: 3 });
  });

  it('logs what an AppError hides from its caller, and the chain of causes', () => {
    const { logger, last } = record();
    const cause = Object.assign(new Error('deadlock detected'), { code: '40P01', rows: [{ email: 'a@b.c' }] });
    logger.error('Failed', new AppError('server', 'Internal error', { internal: 'claim of batch b1', cause }));
    expect(last().err).toMatchObject({
      type: 'AppError',
      code: 'server',
      internal: 'claim of batch b1',
      cause: { message: 'deadlock detected', code: '40P01' },
    });
    expect(JSON.stringify(last())).not.toContain('a@b.c');
  });

  it('shows nothing of a text that is no JSON', () => {
    const { logger, last } = record();
    let cause: unknown;
    try {
      JSON.parse('Mr. Smith has HIV');
    } catch (thrown) {
      cause = thrown;
    }
    logger.error('Failed', { err: new AppError('server', 'Internal error', { cause }) });
    expect(last().err).toMatchObject({ cause: { type: 'SyntaxError', stack: expect.stringContaining('    at ') } });
    expect(JSON.stringify(last())).not.toContain('Smith');
  });

  it('leaves out the words of a provider, which may repeat the prompt', () => {
    const { logger, last } = record();
    const metadata = { provider_name: 'Acme' };
    const refusal = new AppError('invalid_request', 'not this: Dr Smith', { metadata, internal: 'acme answered 400' });
    logger.error('Failed', { err: new AppError('server', 'Internal error', { cause: refusal }) });
    expect(last().err.cause).toMatchObject({ code: 'invalid_request', internal: 'acme answered 400' });
    expect(JSON.stringify(last())).not.toContain('Smith');
  });

  it('survives causes in a circle, thrown non-errors and texts without end', () => {
    const { logger, last } = record();
    const first = new Error('a');
    first.cause = new Error('b', { cause: first });
    logger.error('Circle', first);
    expect(last().err.cause?.cause?.message).toBe('a');
    logger.error('Odd', { err: 'just a text' });
    expect(last().err).toMatchObject({ type: 'string', message: 'just a text' });
    logger.error(new Error('x'.repeat(1_000_000)));
    expect(JSON.stringify(last()).length).toBeLessThan(20_000);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    logger.log('Circle', { circle });
    expect(last().msg).toBe('Circle');
  });

  it('escapes control characters, so no text can begin a line of its own', () => {
    const { logger, lines, last } = record();
    logger.log('one\r\n{"level":"fatal","msg":"forged"}\u0000\u001b[31m', { note: 'a\nb' });
    expect(lines).toHaveLength(1);
    expect([...(lines[0]?.trimEnd() ?? '')].every((character) => character >= ' ')).toBe(true);
    expect(last().level).toBe('info');
  });

  it('shows no secret: neither one in its wrapper nor one that slipped into a text', () => {
    const { logger, lines } = record();
    logger.log('Boot', { url: new Secret('postgres://a:canary@db/x'), env: { key: new Secret('canary') } });
    logger.error('Upstream', new Error('401 for key sk-ant-canarycanary'), {
      headers: { 'X-Api-Key': 'canary"canary' },
    });
    expect(lines.join('')).not.toContain('canary');
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  it('flushes its destination when asked to', () => {
    const { logger, flushes } = record();
    logger.child('x').flush();
    expect(flushes()).toBe(1);
  });
});
