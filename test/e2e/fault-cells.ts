import type { UpstreamDialect } from '../support/provider-scripts';
import { readMarkdown, sectionOf, tableRowsOf } from '../docs/markdown';
import { FAULTS, type FaultEntry } from './faults';

export const APIS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];

/** A row of the table in docs/streams.md. */
export interface FaultRow {
  readonly name: string;
  /** Whether a stream has been opened when it happens; `announced`: where an announcement opens it. */
  readonly gate: 'closed' | 'announced' | 'open';
  readonly end: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  /** A code of docs/errors.md. */
  readonly told: string | null;
  readonly charged: 'nothing' | 'the prompt' | 'what was said' | 'the report';
}

export interface EndRow {
  readonly api: string;
  readonly openedBy: 'an announcement' | 'content';
  readonly ends: Readonly<Record<'completed' | 'incomplete' | 'failed', readonly string[]>>;
}

const document = readMarkdown('docs/streams.md');
const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

export function readFaultRows(): FaultRow[] {
  return tableRowsOf(sectionOf(document, 'What a provider can do')).map(
    ([name = '', gate, end = '', told = '', charged]) =>
      ({ name, gate, end: codesIn(end)[0], told: codesIn(told)[0] ?? null, charged }) as FaultRow,
  );
}

export function readEndRows(): EndRow[] {
  return tableRowsOf(sectionOf(document, 'The gate, and how streams end')).map(
    ([api = '', openedBy, completed = '', incomplete = '', failed = '']) =>
      ({
        api,
        openedBy,
        ends: { completed: codesIn(completed), incomplete: codesIn(incomplete), failed: codesIn(failed) },
      }) as EndRow,
  );
}

/** One call of the matrix. */
export interface Cell {
  readonly id: number;
  readonly caller: UpstreamDialect;
  readonly upstream: UpstreamDialect;
  readonly row: FaultRow;
  readonly fault: FaultEntry;
  readonly isStream: boolean;
  readonly hasSecond: boolean;
  /** Whether a stream has been opened when the fault happens. */
  readonly isOpen: boolean;
}

/** Every fault, by every API, at a provider of every dialect, streamed and not, with a second endpoint and without. */
export function allCells(): Cell[] {
  const pairs = APIS.flatMap((caller) => APIS.map((upstream) => ({ caller, upstream })));
  const cells = readFaultRows().flatMap((row) => pairs.flatMap((pair) => cellsOf(row, pair)));
  return cells.map((cell, id) => ({ ...cell, id }));
}

const endRows = readEndRows();

function cellsOf(row: FaultRow, pair: Pick<Cell, 'caller' | 'upstream'>): Omit<Cell, 'id'>[] {
  const fault = FAULTS[row.name];
  if (fault === undefined) throw new Error(`docs/streams.md has a row that nobody tries: ${row.name}`);
  const { openedBy } = endRows.find(({ api }) => api === pair.caller)!;
  const opensEarly = pair.caller === pair.upstream && openedBy === 'an announcement';
  const isOpen = row.gate === 'open' || (row.gate === 'announced' && opensEarly);
  const modes = [false, true].filter((isStream) => fault[isStream ? 'stream' : 'whole'] !== undefined);
  return modes.flatMap((isStream) =>
    [false, true].map((hasSecond) => ({ ...pair, row, fault, isStream, hasSecond, isOpen })),
  );
}

/** What has to come of a cell. */
export interface Verdict {
  readonly end: FaultRow['end'];
  readonly servedBy: 'first' | 'second' | null;
  readonly charged: FaultRow['charged'];
  /** Who counted, as the stored row says it. */
  readonly provenance: 'upstream' | 'estimated' | 'partial' | null;
}

/** With a second endpoint a call that fails while it is closed is whole after all. */
export function verdictOf({ row, hasSecond, isOpen }: Cell): Verdict {
  const { end, charged } = row;
  if (hasSecond && !isOpen && end === 'failed') {
    return { end: 'completed', servedBy: 'second', charged: 'the report', provenance: 'upstream' };
  }
  if (!isOpen && end !== 'cancelled') return { end, servedBy: null, charged, provenance: null };
  return { end, servedBy: 'first', charged, provenance: provenanceOf(row) };
}

function provenanceOf({ end, charged }: FaultRow): Verdict['provenance'] {
  if (end === 'failed') return 'partial';
  if (charged === 'the report') return 'upstream';
  return end === 'cancelled' ? 'partial' : 'estimated';
}
