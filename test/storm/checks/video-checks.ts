import { amountOf } from '../../support/decimal';
import type { Evidence, StoredVideo } from '../evidence';
import type { Check, StormViolation } from './violation';

const TERMINAL = new Set(['completed', 'failed', 'cancelled', 'expired']);

export const videos: Check = (evidence) => [
  ...evidence.videos
    .filter(({ id }) => !evidence.dump.videos.some((row) => row.id === id))
    .map(({ id }) => ended(`${id} has no row`)),
  ...evidence.dump.videos.flatMap((row) => wrongEnd(evidence, row)),
  ...[...evidence.filmsMade]
    .filter(([, times]) => times > 1)
    .map(([id, times]): StormViolation => ({ promise: 'a film is made once', what: `${id}: ${times} jobs upstream` })),
];

/** Also of a video whose acceptance no caller saw. */
function wrongEnd({ dump, announcements, videoUsd }: Evidence, row: StoredVideo): StormViolation[] {
  const { id } = row;
  if (!TERMINAL.has(row.status)) return [ended(`${id} is ${row.status}`)];
  const held = dump.holds.filter((hold) => hold.id === id).length;
  const wrong = held === 1 ? [] : [`has ${held} holds`];
  const told = [...new Set(announcements.get(id))];
  const due = `${id}-${row.status} ${row.status}`;
  const isToldOnce = told.length === 1 && told[0] === due;
  if (!isToldOnce) wrong.push(`announced as ${told.join(', ') || 'nothing'} instead of ${due}`);
  const cost = row.costUsd === null ? 0n : amountOf(row.costUsd);
  const price = row.status === 'completed' ? amountOf(videoUsd) : 0n;
  if (cost !== price) wrong.push(`${row.status}, and cost ${row.costUsd}`);
  return wrong.map((what) => ended(`${id}: ${what}`));
}

function ended(what: string): StormViolation {
  return { promise: 'a video ends once', what };
}
