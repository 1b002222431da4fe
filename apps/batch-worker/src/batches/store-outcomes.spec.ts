import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { LineOutcome } from '@libs/persistence';
import { aLineOutcome } from '@libs/persistence/testing';
import { storeAllOutcomes, type OutcomeStore } from './store-outcomes';

const outcomeOf = (batchNumber: bigint): LineOutcome => aLineOutcome({ batchNumber, number: 0, fence: 1n }, 0);
const logger = new Logger('test');

/** PostgreSQL, where another session has locked the hold of one batch. */
const lockedBatch = (locked: bigint): OutcomeStore => ({
  store: async (outcomes) => {
    if (outcomes.some(({ lease }) => lease.batchNumber === locked)) {
      const cause = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
      throw new AppError('unavailable', 'The service is temporarily unavailable', { cause });
    }
    return { stored: outcomes.length, batchesWithDoneSegments: [], batchesAheadOfHold: [] };
  },
});

describe(storeAllOutcomes.name, () => {
  it('says how many outcomes are results now', async () => {
    expect(await storeAllOutcomes(lockedBatch(9n), [outcomeOf(1n), outcomeOf(2n)], logger)).toBe(2);
  });

  it('fails when one outcome waits behind a lock, so that a paid answer is read again and not bought again', async () => {
    const outcomes = [outcomeOf(1n), outcomeOf(2n)];
    await expect(storeAllOutcomes(lockedBatch(2n), outcomes, logger)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
