import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { BatchOwner } from '@libs/persistence';
import { WaitingPool } from '../http/waiting-pool';

/** Of a gateway's 16 connections to PostgreSQL, the number for batch submissions; short requests use the others. */
const MOST_AT_ONCE = 6;
const LONGEST_WAIT_MS = 30_000;

/**
 * Limits the batch submissions that hold a connection to PostgreSQL. Each writes megabytes, and those of one
 * organization wait for the lock of its account. A workspace gets at most two thirds of the slots. The others wait
 * without a connection.
 */
@Injectable()
export class IntakeTurns {
  private readonly places = new WaitingPool(MOST_AT_ONCE, { longestWaitMs: LONGEST_WAIT_MS });

  /** Runs the work when a slot is free. @throws AppError provider_overloaded after 30 seconds without one */
  async run<T>({ workspaceId, organizationId }: BatchOwner, work: () => Promise<T>): Promise<T> {
    const holders = [workspaceId, organizationId];
    const hasTurn = this.places.take(holders, 1) || (await this.places.wait(holders, 1));
    if (!hasTurn) {
      throw new AppError('provider_overloaded', 'The service is overloaded', {
        retryAfterSeconds: 5,
        internal: 'too many batches are written to PostgreSQL',
      });
    }
    try {
      return await work();
    } finally {
      this.places.give(holders, 1);
    }
  }
}
