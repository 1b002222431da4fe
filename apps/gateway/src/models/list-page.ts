import { AppError } from '@libs/errors';

/** The requested part of a list; without `limit` and `offset` it is the whole list. */
export interface ListPage {
  readonly offset: number;
  /** Null means the whole list. */
  readonly limit: number | null;
}

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 500;
/** Larger than any list, but small enough for exact additions. */
const MAX_OFFSET = 1_000_000_000;

/** @throws AppError invalid_request with the name of the field; unknown fields are ignored */
export function readListPage(query: Readonly<Record<string, unknown>>): ListPage {
  const offset = readWhole(query, 'offset', 0, MAX_OFFSET);
  const limit = readWhole(query, 'limit', 1, MAX_LIMIT);
  if (offset === null && limit === null) return { offset: 0, limit: null };
  return { offset: offset ?? 0, limit: limit ?? DEFAULT_LIMIT };
}

/** Accepts only decimal digits: no sign, exponent, leading zeros or spaces, and no repeated parameter. */
function readWhole(query: Readonly<Record<string, unknown>>, name: string, least: number, most: number): number | null {
  const nested = Object.keys(query).some((key) => key.startsWith(`${name}[`));
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined && !nested) return null;
  const isWhole = !nested && typeof value === 'string' && /^(?:0|-0|[1-9]\d{0,9})$/.test(value);
  const number = isWhole ? Math.abs(Number(value)) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new AppError('invalid_request', `${name} must be a whole number from ${least} to ${most}`, {
    metadata: { param: name },
  });
}

/** Returns the path of the next page, or null. It is relative, so that no Host header can change where it leads. */
export function nextPagePath(
  path: string,
  { offset, limit }: ListPage,
  { totalCount, parameters = '' }: { readonly totalCount: number; readonly parameters?: string },
): string | null {
  if (limit === null || offset + limit >= totalCount) return null;
  return `${path}?${parameters}${parameters && '&'}limit=${limit}&offset=${offset + limit}`;
}
