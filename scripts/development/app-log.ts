import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const LARGEST_FILE_BYTES = 32 * 1024 * 1024;
const KEPT_LINES = 40;
const LONGEST_LINE = 64 * 1024;
const ECHOED_LINES_PER_WINDOW = 20;
const ECHO_WINDOW_MS = 10_000;
/** How the terminal names the levels of a log that it shows. */
const SHOWN_LEVELS = new Map([
  ['warn', 'warning'],
  ['error', 'error'],
  ['fatal', 'error'],
]);

export interface AppLogOptions {
  readonly name: string;
  readonly file: string;
  /** Shows warnings and errors. */
  readonly say: (line: string) => void;
  /** Is called with every line. */
  readonly onLine?: (line: string) => void;
}

/**
 * The log of one child: every line goes to the file, warnings and errors also to the terminal. The file of the previous
 * run, or one that became too large, is kept once as `<file>.1`.
 */
export class AppLog {
  readonly #lastLines: string[] = [];
  readonly #unfinished = { stdout: '', stderr: '' };
  #file: number;
  #bytes = 0;
  #isClosed = false;
  #window = { startedAt: 0, echoed: 0 };

  constructor(private readonly options: AppLogOptions) {
    mkdirSync(dirname(options.file), { recursive: true });
    this.#file = this.openAfresh();
  }

  /** The end of the log, for a message about why the app is not ready. */
  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  take(stream: 'stdout' | 'stderr', text: string): void {
    const lines = (this.#unfinished[stream] + text).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) this.line(stream, line);
    if (rest.length > LONGEST_LINE) this.line(stream, rest);
    this.#unfinished[stream] = rest.length > LONGEST_LINE ? '' : rest;
  }

  /** A line of the supervisor's own. */
  note(text: string): void {
    this.line('stdout', `[supervisor] ${text}`);
  }

  /** Later output of the child is lost. */
  close(): void {
    this.#isClosed = true;
    closeSync(this.#file);
  }

  private openAfresh(): number {
    const { file } = this.options;
    if (existsSync(file)) renameSync(file, `${file}.1`);
    const opened = openSync(file, 'a', 0o600);
    this.#bytes = fstatSync(opened).size;
    return opened;
  }

  private line(stream: 'stdout' | 'stderr', line: string): void {
    if (this.#isClosed) return;
    this.#bytes += writeSync(this.#file, `${line}\n`);
    if (this.#bytes > LARGEST_FILE_BYTES) {
      closeSync(this.#file);
      this.#file = this.openAfresh();
    }
    this.options.onLine?.(line);
    this.#lastLines.push(line);
    if (this.#lastLines.length > KEPT_LINES) this.#lastLines.shift();
    const shown = worthShowing(stream, line);
    if (shown !== undefined) this.echo(shown);
  }

  /** A storm of warnings must not bury the terminal. */
  private echo(text: string): void {
    const now = performance.now();
    if (now - this.#window.startedAt > ECHO_WINDOW_MS) this.#window = { startedAt: now, echoed: 0 };
    this.#window.echoed += 1;
    const { name, file, say } = this.options;
    if (this.#window.echoed < ECHOED_LINES_PER_WINDOW) say(`[${name}] ${text}`);
    else if (this.#window.echoed === ECHOED_LINES_PER_WINDOW) say(`[${name}] … more of this in ${file}`);
  }
}

/** Returns what the terminal shows of a line: warnings and errors of a JSON log, and all plain text on stderr. */
function worthShowing(stream: 'stdout' | 'stderr', line: string): string | undefined {
  if (line.trim() === '') return undefined;
  const entry = logEntry(line);
  if (entry === undefined) return stream === 'stderr' ? line : undefined;
  const kind = SHOWN_LEVELS.get(entry.level);
  if (kind === undefined) return undefined;
  const reason = (entry.err ?? entry.error)?.message ?? entry.cause;
  return [kind, entry.msg, reason].filter((part) => typeof part === 'string').join(': ');
}

interface LogEntry {
  readonly level: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly error?: { readonly message?: string };
  readonly cause?: unknown;
}

function logEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry = JSON.parse(line) as Partial<LogEntry>;
    return typeof entry.level === 'string' ? (entry as LogEntry) : undefined;
  } catch {
    return undefined;
  }
}
