import { MOST_CHANGES, type FeedChanges, type FeedPosition } from '@libs/contracts';
import { AppError } from '@libs/errors';

/** Returns what an owner published. @throws AppError invalid_request for anything else */
export function readFeedEvent(event: unknown): FeedChanges {
  if (typeof event === 'object' && event !== null) {
    const { since, position, subjects } = event as Partial<FeedChanges>;
    const isWhole = (since === null || isPosition(since)) && isPosition(position) && areSubjects(subjects);
    if (isWhole) return { since, position, subjects };
  }
  throw new AppError('invalid_request', 'Unreadable event');
}

function isPosition(value: unknown): value is FeedPosition {
  if (typeof value !== 'object' || value === null) return false;
  const { revision, mark } = value as Partial<FeedPosition>;
  return Number.isSafeInteger(revision) && typeof mark === 'string';
}

function areSubjects(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MOST_CHANGES && value.every((subject) => typeof subject === 'string');
}
