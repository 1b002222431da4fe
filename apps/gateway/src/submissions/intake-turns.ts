import { Injectable } from '@nestjs/common';
import { WaitingPool } from '../http/waiting-pool';

/** Of a gateway's 16 connections to PostgreSQL, the number for batches and videos; short requests use the others. */
const MOST_AT_ONCE = 6;
const LONGEST_WAIT_MS = 30_000;

interface Submitter {
  readonly workspaceId: string;
  readonly organizationId: string;
}

/**
 * Limits the submissions of batches and videos that hold a connection to PostgreSQL. A batch writes megabytes, and all of
 * one organization wait for the lock of its account. A workspace gets at most two thirds of the slots. The others wait
 * without a connection.
 */
@Injectable()
export class IntakeTurns {
  private readonly places = new WaitingPool(MOST_AT_ONCE, { longestWaitMs: LONGEST_WAIT_MS });

  /**
   * Runs the work when a slot is free.
   * @param signal aborts when the request ends early: its memory is no longer counted then, and its work must not begin
   * @throws AppError provider_overloaded after 30 seconds without a slot, or when the signal aborts
   */
  run<T>({ workspaceId, organizationId }: Submitter, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.places.run(
      [workspaceId, organizationId],
      work,
      'too many batches and videos are written to PostgreSQL',
      signal,
    );
  }
}
