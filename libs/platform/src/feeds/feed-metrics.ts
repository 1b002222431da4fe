import type { FeedName } from '@libs/contracts';
import { counter, gauge } from '../telemetry/metrics';

/** Outcome: `answered` or `failed`. */
export const feedChecksTotal = counter<'feed' | 'outcome'>({
  name: 'sluice_feed_checks_total',
  help: 'Questions whether anything changed',
  labelNames: ['feed', 'outcome'],
});

export const feedMissedTotal = counter<'feed'>({
  name: 'sluice_feed_missed_total',
  help: 'Changes that a question found and no event had announced',
  labelNames: ['feed'],
});

export const feedForgottenTotal = counter<'feed'>({
  name: 'sluice_feed_forgotten_total',
  help: 'Times that everything was forgotten, since it was not known what had changed',
  labelNames: ['feed'],
});

export const feedRevision = gauge<'feed'>({
  name: 'sluice_feed_revision',
  help: 'Last change that was applied',
  labelNames: ['feed'],
});

const checkedAtMs = new Map<FeedName, () => number>();

gauge<'feed'>({
  name: 'sluice_feed_check_age_seconds',
  help: 'Age of the last question that was answered, from the moment it was asked',
  labelNames: ['feed'],
  collect: (metric) => {
    for (const [feed, atMs] of checkedAtMs) metric.set({ feed }, (performance.now() - atMs()) / 1_000);
  },
});

/** Shows the age of a feed's requests; `atMs` returns the time of the last one that was answered. */
export function showCheckAge(feed: FeedName, atMs: () => number): void {
  checkedAtMs.set(feed, atMs);
}
