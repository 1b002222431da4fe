import { AppError } from '@libs/errors';
import type { BatchFilter, BatchView } from '@libs/persistence';

/** Query of `GET /batches`. */
export interface BatchListQuery extends BatchFilter {
  readonly limit: number;
  /** Id of the last batch on the previous page. */
  readonly after: string | null;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** The statuses that the list can be filtered by; short-lived statuses are not among them. */
const LISTED_STATUSES: readonly BatchView['status'][] = [
  'validating',
  'in_progress',
  'completed',
  'failed',
  'expired',
  'cancelled',
];
const UNIX_SECONDS = /^\d{1,11}$/;
/** A time without an offset is in UTC. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const MAX_UNIX_SECONDS = 253_402_300_799;
/** The year 1; PostgreSQL counts earlier years differently from ISO 8601. */
const FIRST_SECONDS = Date.parse('0001-01-01T00:00:00Z') / 1_000;

type Query = Readonly<Record<string, unknown>>;

/** @throws AppError invalid_request with the name of the field; unknown fields are ignored */
export function readBatchListQuery(query: Query): BatchListQuery {
  const createdAfter = readTime(query, 'created_after');
  const createdBefore = readTime(query, 'created_before');
  if (createdAfter !== null && createdBefore !== null && createdAfter >= createdBefore) {
    throw refused('created_after', 'must be before created_before');
  }
  return {
    limit: readLimit(query),
    after: readOnce(query, 'after'),
    statuses: readStatuses(query),
    createdAfter: createdAfter?.text ?? null,
    createdBefore: createdBefore?.text ?? null,
  };
}

function readLimit(query: Query): number {
  const text = readOnce(query, 'limit');
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw refused('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
}

function readStatuses(query: Query): readonly BatchView['status'][] | null {
  const value = Object.hasOwn(query, 'status') ? query['status'] : undefined;
  if (value === undefined) return null;
  return (Array.isArray(value) ? value : [value]).map((name: unknown) => {
    const status = LISTED_STATUSES.find((known) => known === name);
    if (status === undefined) throw refused('status', `must be one of ${LISTED_STATUSES.join(', ')}`);
    return status;
  });
}

/** A point in time. `valueOf` compares it to the nanosecond; kept as text so that PostgreSQL reads every digit. */
interface Moment {
  readonly text: string;
  valueOf(): number;
}

function readTime(query: Query, name: string): Moment | null {
  const text = readOnce(query, name);
  if (text === null) return null;
  if (UNIX_SECONDS.test(text) && Number(text) <= MAX_UNIX_SECONDS) {
    const seconds = Number(text);
    return { text: new Date(seconds * 1_000).toISOString(), valueOf: () => seconds };
  }
  const iso = ISO_TIME.test(text) ? withOffset(text) : '';
  const seconds = Math.floor(Date.parse(iso) / 1_000);
  const isKnown = seconds >= FIRST_SECONDS && seconds <= MAX_UNIX_SECONDS;
  if (!isKnown || !isRealDay(iso.slice(0, 10))) {
    throw refused(name, 'must be Unix seconds or an ISO 8601 date or time');
  }
  const finer = /\.\d+/.exec(iso)?.[0] ?? '';
  // Converted to UTC, because PostgreSQL accepts no offsets above sixteen hours.
  const utc = `${new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length)}${finer}Z`;
  return { text: utc, valueOf: () => seconds + Number(`0${finer}`) };
}

function withOffset(text: string): string {
  if (!text.includes('T')) return `${text}T00:00:00Z`;
  return /Z|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`;
}

/** Date.parse accepts 30 February as a day in March. */
function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function readOnce(query: Query, name: string): string | null {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return null;
  if (typeof value === 'string' && value !== '') return value;
  throw refused(name, 'must be given once');
}

function refused(param: string, what: string): AppError {
  return new AppError('invalid_request', `${param} ${what}`, { metadata: { param } });
}
