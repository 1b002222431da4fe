import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { AppError } from '@libs/errors';
import { sqlStateOf } from './session';

/**
 * SQL states of problems outside the statement: lost connections, a server that ends sessions, starts up or has no
 * room, sessions and statements that took too long, locks that were not obtained in time, conflicts that retries did
 * not resolve.
 */
const TROUBLE_STATES = /^(?:08|53|57P0|57014|25P0[34]|55P03|40001|40P01)/;
/** Error codes of the operating system and of name lookups. */
const TROUBLE_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** Messages of the driver and its pool that have no code. */
const TROUBLE_MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client (?:has encountered a connection error|was closed)|Query read timeout|server conn crashed)/;

/** Errors of TypeORM after it has dropped a connection that ended between two statements of a transaction. */
const GIVEN_UP = [QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError];

/** State of a database that an operator has closed; statements can have the same state. */
const CLOSED_DATABASE = /^database ".*" is not currently accepting connections$/;

const RETRY_AFTER_SECONDS = 2;

/**
 * Runs work on PostgreSQL. Failures of PostgreSQL or of the connection are thrown as AppError `unavailable`, which
 * callers may retry; all other errors are thrown unchanged.
 */
export async function reporting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isTrouble(error) ? databaseUnavailable(error) : error;
  }
}

function databaseUnavailable(cause: Error): AppError {
  return new AppError('unavailable', 'The service is temporarily unavailable', {
    cause,
    internal: `PostgreSQL: ${cause.message}`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

function isTrouble(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  const state = sqlStateOf(error);
  if (state !== null) return TROUBLE_STATES.test(state) || CLOSED_DATABASE.test(error.message);
  if ('code' in error && TROUBLE_CODES.has(error.code)) return true;
  if (GIVEN_UP.some((type) => error instanceof type)) return true;
  // A connection that failed for every address of a host.
  if (error instanceof AggregateError) return error.errors.some(isTrouble);
  return TROUBLE_MESSAGES.test(error.message);
}
