import type { ChargeReport } from './charge-facts';
import { keysOf } from './charge-group';

/** Returns what a report and the record do not contain, so that it cannot be compared. */
export function notesOf({ usage, costs }: ChargeReport): string[] {
  const keys = keysOf([...usage, ...costs]);
  if (keys.length < 2) return [];
  const notes = [
    `the report has ${keys.length} keys, and the record does not say with which of them a call was made: ` +
      'counts are compared for all keys of a day and model together',
  ];
  if (costs.every(({ key }) => key === null)) {
    notes.push('the report has no amounts by key: amounts are compared for all keys together');
  }
  return notes;
}
