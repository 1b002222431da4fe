import type { CallContract } from '@libs/contracts';
import { LEEWAY_MS, type SignedQuestion } from './signatures';

type TimedContract = Pick<CallContract<object, object>, 'repeat' | 'timeoutMs'>;

/**
 * Returns why a question is dropped by our own clock, or null. It says whose clock differs by how much, as nothing else
 * does: the asker sees timeouts.
 *
 * A signature that runs out later than its asker gives up would outlive the memory of its question. Whether a change
 * comes too late is not judged here but by the clock of PostgreSQL, which has set its deadline.
 */
export function problemOfTime(
  { repeat, timeoutMs }: TimedContract,
  { asker, expiresAtMs }: Pick<SignedQuestion, 'asker' | 'expiresAtMs'>,
  nowMs: number,
): string | null {
  const isChange = repeat === 'refused';
  const lateMs = nowMs - expiresAtMs;
  const aheadMs = -lateMs - timeoutMs;
  if (!(aheadMs <= LEEWAY_MS)) {
    const whose = isChange ? 'PostgreSQL' : asker;
    return `the clock of ${whose} is ${secondsOf(aheadMs)} ahead of ours, or it was signed for too long`;
  }
  if (isChange || lateMs < LEEWAY_MS) return null;
  return `it ran out ${secondsOf(lateMs)} ago: the clock of ${asker} is behind ours by that, or it was held up`;
}

function secondsOf(durationMs: number): string {
  return `${Math.round(durationMs / 1_000)} s`;
}
