import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { boundedText } from '../bounded-body';

/** One kind of report. A repeated parameter has several values. */
export interface ReportRequest {
  /** Path after the base URL of the provider, e.g. `/organization/costs`. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** One time bucket of a report: its start in the provider's form, and its counts. */
export interface ReportBucket {
  readonly start: unknown;
  readonly results: readonly JsonObject[];
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** How a provider writes its buckets, and how it authenticates requests. */
export interface ReportDialect {
  /** Field with the start of a bucket. */
  readonly startMember: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
}

export interface ReportBounds {
  readonly timeoutMs: number;
  readonly pages: number;
  readonly bytes: number;
}

/** Limits for the time and bytes of one page. OpenAI and Anthropic need three pages for the longest period. */
export const REPORT_BOUNDS: ReportBounds = { timeoutMs: 30_000, pages: 20, bytes: 16 * 1024 * 1024 };

/** Reads the reports of one provider with an administrator's key. Follows no redirect: the key would go with it. */
export class ReportClient {
  constructor(
    private readonly baseUrl: string,
    private readonly key: Secret,
    private readonly dialect: ReportDialect,
    private readonly bounds: ReportBounds = REPORT_BOUNDS,
  ) {}

  /** Returns the buckets of all pages. @throws AppError with the problem in `internal`, never with the answer */
  async buckets({ path, parameters }: ReportRequest): Promise<ReportBucket[]> {
    const buckets: ReportBucket[] = [];
    let page: string | undefined;
    for (let pages = 0; pages < this.bounds.pages; pages += 1) {
      const answer = await this.#page(path, { ...parameters, page });
      buckets.push(...this.#bucketsOf(path, answer));
      const next = answer['next_page'];
      if (answer['has_more'] !== true) return buckets;
      if (typeof next !== 'string' || next === page) {
        throw unreadable(path, 'has more pages and does not name the next');
      }
      page = next;
    }
    throw unreadable(path, `has more than ${this.bounds.pages} pages: ask for fewer days`);
  }

  async #page(path: string, parameters: ReportRequest['parameters']): Promise<JsonObject> {
    const url = `${this.baseUrl}${path}?${queryOf(parameters)}`;
    const headers = { accept: 'application/json', ...this.dialect.headers(this.key.reveal()) };
    let status: number;
    let text: string | null;
    try {
      const answer = await fetch(url, {
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.bounds.timeoutMs),
      });
      status = answer.status;
      text = await boundedText(answer, this.bounds.bytes);
    } catch (cause) {
      throw new AppError('provider_unavailable', 'The provider does not answer', {
        internal: `${path} could not be read within ${this.bounds.timeoutMs} ms`,
        cause,
      });
    }
    if (status !== 200) throw unreadable(path, statusText(status));
    if (text === null) throw unreadable(path, `answered with more than ${this.bounds.bytes} bytes`);
    return objectOf(path, text);
  }

  #bucketsOf(path: string, { data }: JsonObject): ReportBucket[] {
    if (!Array.isArray(data)) throw unreadable(path, 'answered without a list of days');
    return data.map((bucket: unknown) => {
      const results = isObject(bucket) ? bucket['results'] : null;
      if (!isObject(bucket) || !Array.isArray(results) || !results.every(isObject)) {
        throw unreadable(path, 'answered with a day that has no results');
      }
      return { start: bucket[this.dialect.startMember], results };
    });
  }
}

/** An answer of a report that cannot be used. */
export function unreadable(path: string, what: string): AppError {
  return new AppError('server', 'The report of the provider cannot be read', { internal: `${path} ${what}` });
}

function statusText(status: number): string {
  const isRefused = status === 401 || status === 403;
  return isRefused ? `answered with ${status}: the key must be an administrator's` : `answered with ${status}`;
}

function queryOf(parameters: ReportRequest['parameters']): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) query.append(name, one);
  }
  return query.toString();
}

/** Numbers become the text that was read: amounts of money do not survive a double. */
function objectOf(path: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text, asWritten as Reviver);
  } catch {
    throw unreadable(path, 'did not answer in JSON');
  }
  if (!isObject(value)) throw unreadable(path, 'did not answer with an object');
  return value;
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

function asWritten(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context.source ?? String(value)) : value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
