import type { DayRange } from '@libs/persistence';
import { UsageError } from '../command';
import type { ChargeReport, ReportedCost, ReportedUsage } from './charge-facts';
import { tierOf } from './price-book';
import { isDay } from './report-days';
import { PRINTABLE, readAmount } from './report-fields';

/** In any order; `day`, `model` and `cost_usd` are required. */
export const CSV_COLUMNS = [
  'day',
  'model',
  'cost_usd',
  'key',
  'tier',
  'context_window',
  'batch',
  'tool',
  'requests',
  'input_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
] as const;

type Column = (typeof CSV_COLUMNS)[number];
type Row = Readonly<Partial<Record<Column, string>>>;

const REQUIRED: readonly Column[] = ['day', 'model', 'cost_usd'];
const MAX_ROWS = 200_000;

/**
 * Reads what any provider charged from a table with a heading: one row for each day, model, key and price. Rows of
 * other days are left out.
 * @throws UsageError with the line and column that cannot be read
 */
export function readCsvReport(text: string, { from, to }: DayRange): ChargeReport {
  const [heading = NO_LINE, ...lines] = linesOf(text);
  const columns = columnsOf(heading.cells);
  if (lines.length > MAX_ROWS) throw new UsageError(`the CSV file has more than ${MAX_ROWS} rows`);
  const hasWindows = columns.includes('context_window');
  const hasRequests = columns.includes('requests');
  const usage: ReportedUsage[] = [];
  const costs: ReportedCost[] = [];
  for (const filled of lines) {
    const line = new CsvLine(rowOf(columns, filled), filled.number);
    const day = line.day();
    if (day < from || day > to) continue;
    costs.push(line.cost(day));
    if (line.text('tool') === '') usage.push(line.usage(day, hasWindows, hasRequests));
  }
  return { usage, costs };
}

/** One row below the heading. */
class CsvLine {
  constructor(
    private readonly row: Row,
    private readonly number: number,
  ) {}

  text(column: Column): string {
    return this.row[column] ?? '';
  }

  day(): string {
    const day = this.text('day');
    return isDay(day) ? day : this.#refuse('day', 'a day such as 2026-11-20');
  }

  cost(day: string): ReportedCost {
    const amount = readAmount(this.text('cost_usd')) ?? this.#refuse('cost_usd', 'an amount such as 1.25');
    const model = this.text('model') || null;
    const tool = this.text('tool') || null;
    const key = this.text('key') || null;
    const item = [model, tool].filter((one) => one !== null).join(', ');
    return { day, model, item, tokenClass: null, key, tool, amount };
  }

  usage(day: string, hasWindows: boolean, hasRequests: boolean): ReportedUsage {
    const input = this.#count('input_tokens');
    const cached = this.#count('cached_tokens');
    const writes = this.#count('cache_write_tokens');
    const hourWrites = this.#count('cache_write_1h_tokens');
    if (cached + writes > input) this.#refuse('input_tokens', 'at least cached_tokens and cache_write_tokens together');
    if (hourWrites > writes) this.#refuse('cache_write_1h_tokens', 'at most cache_write_tokens');
    return {
      day,
      model: this.text('model'),
      key: this.text('key') || null,
      tier: tierOf(this.text('tier')),
      isLong: hasWindows ? this.#oneOf('context_window', { '': false, standard: false, long: true }) : null,
      isBatch: this.#oneOf('batch', { '': false, false: false, true: true }),
      requests: hasRequests ? this.#count('requests') : null,
      tokens: {
        uncached: input - cached - writes,
        cached,
        cacheWrite5m: writes - hourWrites,
        cacheWrite1h: hourWrites,
        output: this.#count('output_tokens'),
      },
    };
  }

  #count(column: Column): bigint {
    const text = this.text(column) || '0';
    return /^\d{1,18}$/.test(text) ? BigInt(text) : this.#refuse(column, 'a whole number');
  }

  #oneOf(column: Column, values: Readonly<Record<string, boolean>>): boolean {
    const names = Object.keys(values).filter((name) => name !== '');
    const text = this.text(column);
    return (
      (Object.hasOwn(values, text) ? values[text] : undefined) ??
      this.#refuse(column, `${names.join(' or ')}, or empty`)
    );
  }

  #refuse(column: Column, allowed: string): never {
    throw new UsageError(`line ${this.number} of the CSV file: ${column} must be ${allowed}`);
  }
}

function columnsOf(heading: readonly string[]): Column[] {
  const known: readonly string[] = CSV_COLUMNS;
  const unknown = heading.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`the CSV file has a column that is not known; there are: ${CSV_COLUMNS.join(', ')}`);
  }
  const missing = REQUIRED.filter((name) => !heading.includes(name));
  if (missing.length > 0) throw new UsageError(`the CSV file lacks the column ${missing.join(', ')}`);
  if (new Set(heading).size < heading.length) throw new UsageError('the CSV file has a column twice');
  return heading as Column[];
}

function rowOf(columns: readonly Column[], { cells, number }: FilledLine): Row {
  if (cells.length !== columns.length) {
    throw new UsageError(`line ${number} of the CSV file has ${cells.length} cells, the heading ${columns.length}`);
  }
  return Object.fromEntries(columns.map((column, place) => [column, cells[place]!]));
}

const CELL = /^(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/;

/** A line that is not empty. */
interface FilledLine {
  /** From 1, as an editor counts the lines of the file. */
  readonly number: number;
  readonly cells: readonly string[];
}

const NO_LINE: FilledLine = { number: 1, cells: [] };

/** Splits a text. Line breaks in quotes are not supported, because no column needs one. Empty lines are left out. */
function linesOf(text: string): FilledLine[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  return lines.flatMap((line, index) =>
    line.trim() === '' ? [] : [{ number: index + 1, cells: lineCells(line, index + 1) }],
  );
}

function lineCells(line: string, number: number): string[] {
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const match = CELL.exec(rest);
    if (match === null) throw new UsageError(`line ${number} of the CSV file has a quote that does not fit`);
    const cell = (match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim();
    if (!PRINTABLE.test(cell)) throw new UsageError(`line ${number} of the CSV file has a cell that is no plain text`);
    cells.push(cell);
    if (match[3] === '') return cells;
    rest = rest.slice(match[0].length);
  }
}
