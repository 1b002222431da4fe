import { SandboxError } from '../http/sandbox-error';
import { jsonReply, type Call, type Reply } from '../http/reply';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
const MAXIMUM_RANGE = 366;

/** A report in pages of days, each with its results. */
export interface ReportShape {
  readonly startParameter: string;
  readonly endParameter: string;
  /** Days that one page can have. */
  readonly maximumDays: number;
  /** Returns milliseconds since the epoch from the text of a parameter; NaN if it is not a time. */
  readonly readTime: (text: string) => number;
  readonly bucket: (startMs: number, endMs: number, results: readonly object[]) => object;
  /** Fields of a page in addition to its data. */
  readonly members: object;
}

/** Answers one page. `page` holds the start of its first day. */
export function reportPage({ query }: Call, shape: ReportShape, resultsOf: (day: string) => readonly object[]): Reply {
  const start = timeOf(query, shape.startParameter, shape);
  const end = timeOf(query, shape.endParameter, shape);
  if ((end - start) / DAY_MS > MAXIMUM_RANGE) throw new SandboxError(400, 'The range is too long', shape.endParameter);
  if (query.get('bucket_width') !== '1d') throw new SandboxError(400, "'bucket_width' must be 1d", 'bucket_width');
  const days = daysOf(query.get('limit'), shape.maximumDays);
  const from = firstDayOf(query.get('page'), start);
  const until = Math.min(from + days * DAY_MS, end);
  const data: object[] = [];
  for (let at = from; at < until; at += DAY_MS) {
    data.push(shape.bucket(at, at + DAY_MS, resultsOf(new Date(at).toISOString().slice(0, 10))));
  }
  const hasMore = until < end;
  return jsonReply({ ...shape.members, data, has_more: hasMore, next_page: hasMore ? `page_${until}` : null });
}

function timeOf(query: URLSearchParams, name: string, { readTime }: ReportShape): number {
  const time = readTime(query.get(name) ?? '');
  if (Number.isNaN(time)) throw new SandboxError(400, `'${name}' must be a time`, name);
  return Math.floor(time / DAY_MS) * DAY_MS;
}

function daysOf(limit: string | null, maximum: number): number {
  const days = limit === null ? DEFAULT_DAYS : Number(limit);
  if (!Number.isInteger(days) || days < 1 || days > maximum) {
    throw new SandboxError(400, `'limit' must be an integer from 1 to ${maximum}`, 'limit');
  }
  return days;
}

function firstDayOf(page: string | null, start: number): number {
  if (page === null) return start;
  const match = /^page_(\d{1,15})$/.exec(page);
  if (match === null) throw new SandboxError(400, "'page' must be the next_page of an answer", 'page');
  return Number(match[1]);
}
