import type { LoggerService } from '@nestjs/common';
import { destination, pino, type Logger as PinoLogger } from 'pino';
import { clip, describeError } from './describe-error';
import { LOG_LEVELS, type LogLevel } from './log-levels';
import { scrubLine } from './scrub-line';

/** Where log lines are written; each call is one whole line. */
export interface LogDestination {
  write(line: string): unknown;
  flushSync?(): void;
}

export interface LoggerOptions {
  readonly app: string;
  readonly level: LogLevel;
  /** Standard output by default. */
  readonly destination?: LogDestination;
}

/** Fields of a line in addition to its message; an Error in the field `err` is logged with its stack and causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes one JSON object per line to standard output: `level`, `time`, `app`, `pid`, `context`, `msg`, and fields. */
export function createLogger({ app, level, destination: target }: LoggerOptions): AppLogger {
  const out = target ?? destination({ dest: 1, sync: true });
  const logger = pino(
    {
      level,
      base: { app, pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      depthLimit: 6,
      edgeLimit: 100,
    },
    { write: (line: string) => out.write(scrubLine(line)) },
  );
  return new AppLogger(logger, () => out.flushSync?.());
}

/**
 * The logger of an app, and Nest's through the `logger` option of NestFactory. As in Nest, the last text
 * after the message is the context; an Error or a stack may be in between; an object is a set of fields:
 *
 *     logger.log('Batch claimed', { batchId, lines }, 'BatchRunner')
 *     logger.error('Batch failed', error)
 */
export class AppLogger implements LoggerService {
  constructor(
    private readonly logger: PinoLogger,
    private readonly flushDestination: () => void = () => undefined,
  ) {}

  /** A logger whose lines carry the context and the fields. */
  child(context: string, fields: LogFields = {}): AppLogger {
    return new AppLogger(this.logger.child({ ...fields, context }), this.flushDestination);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Whether a line of the level would be written: for lines that are expensive to create. */
  isLevelEnabled(level: LogLevel): boolean {
    return LOG_LEVELS.includes(level) && this.logger.isLevelEnabled(level);
  }

  /** Must be called before the process ends. */
  flush(): void {
    this.flushDestination();
  }

  private write(level: LogLevel, message: unknown, rest: readonly unknown[]): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const fields: Record<string, unknown> = {};
    const texts: string[] = [];
    for (const part of [message, ...rest]) addPart(fields, texts, part);
    const [text, ...others] = texts;
    const context = others.pop();
    if (context !== undefined && isStack(context)) others.push(context);
    else if (context !== undefined) fields.context = context;
    const stack = others.find(isStack);
    if (stack !== undefined && fields.err === undefined) fields.stack = stack;
    const details = others.filter((other) => other !== stack);
    if (details.length > 0) fields.details = details;
    this.logger[level](fields, text ?? messageOf(fields.err));
  }
}

function addPart(fields: Record<string, unknown>, texts: string[], part: unknown): void {
  if (part instanceof Error) {
    fields.err = part;
  } else if (typeof part === 'object' && part !== null) {
    Object.assign(fields, Array.isArray(part) ? { list: part } : part);
  } else if (part !== undefined) {
    texts.push(clip(String(part)));
  }
}

function isStack(text: string): boolean {
  return text.includes('\n    at ');
}

function messageOf(thrown: unknown): string | undefined {
  return thrown instanceof Error ? clip(thrown.message) : undefined;
}
