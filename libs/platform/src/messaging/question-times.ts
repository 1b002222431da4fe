import type { CallContract } from '@libs/contracts';
import { LEEWAY_MS, type SignedQuestion } from './signatures';

type TimedContract = Pick<CallContract<object, object>, 'repeat' | 'timeoutMs'>;

/**
 * Returns why a request is dropped because of its times by our own clock, or null. The message names whose clock
 * differs by how much; otherwise only timeouts at the caller would show it.
 *
 * A signature that is valid for longer than its caller waits could outlive the record of its request. Whether a change
 * is too late is decided not here but by PostgreSQL's clock, which has set its deadline.
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
