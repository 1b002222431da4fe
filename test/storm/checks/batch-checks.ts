import { findAnswerViolations, findViolations } from '../../support/checker';
import type { ResultBody } from '../../support/client';
import type { UpstreamCall } from '../../support/upstream-script';
import type { BatchRecord, Evidence } from '../evidence';
import type { Check, StormViolation } from './violation';

/** Of lines that never ran because their batch was called off. */
const CALLED_OFF = new Set(['batch_cancelled']);

export const acceptedBatches: Check = ({ batches, dump }) => {
  const stored = new Set(dump.batches.map(({ id }) => id));
  return batches
    .filter(({ id, wasLost }) => wasLost || !stored.has(id))
    .map(({ id, wasLost }) => ({
      promise: 'an accepted batch exists',
      what: `${id} ${wasLost ? 'was answered with 404' : 'has no row'}`,
    }));
};

export const batchHistories: Check = ({ batches, dump, upstreamCalls, prices }) => {
  const callsByMarker = Map.groupBy(upstreamCalls, ({ marker }) => marker);
  return batches.flatMap((record) => {
    const calls = record.lines.flatMap(({ marker }): readonly UpstreamCall[] => callsByMarker.get(marker) ?? []);
    const { endpoint, lines, batch, statuses } = record;
    const books = dump.booksOfBatches.get(record.id);
    const seen = { endpoint, lines, batch, calls };
    const found = books ? findViolations({ ...seen, prices, statuses, books }) : findAnswerViolations(seen);
    return found.map(({ promise, what }): StormViolation => ({
      promise: 'a batch keeps its promises',
      what: `${record.id} (${record.lane}, ${lines.length} lines): ${promise}: ${what}`,
    }));
  });
};

export const lineFailures: Check = ({ batches }: Evidence) =>
  batches.flatMap((record) => {
    const byType = Map.groupBy(unplanted(record), ({ error }) => `${error!.type} ${error!.error_type ?? ''}`.trim());
    return [...byType].map(([type, results]) => ({
      promise: 'lines fail only for their own reasons',
      what: `${record.id} (${record.lane}): ${results.length} of ${record.lines.length} lines failed with ${type}, first ${results[0]!.custom_id}`,
    }));
  });

/** Lines that failed although neither the load nor a cancellation asked for it. */
function unplanted({ batch, planted, wasCancelled }: BatchRecord): ResultBody[] {
  const expected = new Set(planted);
  return (batch?.results ?? []).filter(({ error, custom_id: customId }) => {
    if (error === null || expected.has(customId)) return false;
    return !(wasCancelled && CALLED_OFF.has(error.type));
  });
}
