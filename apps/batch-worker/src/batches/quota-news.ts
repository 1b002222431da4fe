import type { HeldLine } from './held-segment';

/** How long before a line's first try an answer to another line still proves that its provider was working. */
const BEFORE_FIRST_TRY_MS = 60_000;
/** Most failed lines to remember: two are enough to know that a line other than a given one failed. */
const MOST_FAILED = 2;
const MOST_QUOTAS = 2_000;
/** Above this share of temporary failures, a further one does not count against its line. */
const MOST_PASSING = 0.2;
/** Weight of one call in that share. */
const CALL_WEIGHT = 0.05;

interface News {
  answeredAtMs: number;
  /** Share of failed calls among lines that were answered in the end: the rate of random failures. */
  passing: number;
  /** Lines that failed since then, except those that fail while others are answered. */
  readonly failed: Set<string>;
}

/**
 * When each quota last answered a line, and whether lines failed since. Distinguishes a bad line from a bad provider.
 */
export class QuotaNews {
  private readonly quotas = new Map<string, News>();

  answered({ segment: { quota }, doubtful }: HeldLine, nowMs: number): void {
    const news = this.newsOf(quota);
    news.answeredAtMs = nowMs;
    // Skipped for nearly every line, because there were no failures.
    if (doubtful > 0 || news.passing > 0) news.passing = passingAfter(news, doubtful);
    if (news.failed.size > 0) news.failed.clear();
  }

  /** A line that failed while others were answered says nothing about the others. */
  failed(line: HeldLine): void {
    if (line.counted > 0) return;
    const { failed } = this.newsOf(line.segment.quota);
    if (failed.size < MOST_FAILED) failed.add(nameOf(line));
  }

  /** Whether it answered since then, and seldom fails for lines that it answers when they are tried again. */
  isWellSince(quota: string, ms: number): boolean {
    const news = this.quotas.get(quota);
    return news !== undefined && news.answeredAtMs > ms && news.passing <= MOST_PASSING;
  }

  /** Whether all lines but this one that were tried last were answered, and not long before this one was tried. */
  hasAnsweredAllBut(line: HeldLine): boolean {
    const news = this.quotas.get(line.segment.quota);
    if (news === undefined || news.answeredAtMs < line.firstTryMs! - BEFORE_FIRST_TRY_MS) return false;
    return news.failed.size === 0 || (news.failed.size === 1 && news.failed.has(nameOf(line)));
  }

  private newsOf(quota: string): News {
    const known = this.quotas.get(quota);
    if (known !== undefined) return known;
    if (this.quotas.size >= MOST_QUOTAS) this.quotas.delete(this.quotas.keys().next().value!);
    const news: News = { answeredAtMs: -Infinity, passing: 0, failed: new Set() };
    this.quotas.set(quota, news);
    return news;
  }
}

function passingAfter({ passing }: News, failures: number): number {
  return (1 - (1 - passing) * (1 - CALL_WEIGHT) ** failures) * (1 - CALL_WEIGHT);
}

function nameOf({ seq, segment: { claim } }: HeldLine): string {
  return `${claim.batchNumber}:${seq}`;
}
