import type { LoggerService } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { counter } from './metrics';

const attempts = counter({
  name: 'sluice_upstream_attempts_total',
  help: 'Calls to endpoints of providers that are over, by how they ended',
  labelNames: ['provider', 'model', 'outcome'],
});

/** One call to an endpoint, with the catalogue's names. */
export interface UpstreamAttempt {
  readonly provider: string;
  readonly model: string;
  readonly outcome: string;
}

/** Outcomes that are not a failure of the provider. */
const QUIET: ReadonlySet<string> = new Set(['ok', 'abandoned', 'refused_request']);

/** A provider that is down fails every call, so the log gets one line of a sort in this time. */
const LOG_EVERY_MS = 10_000;

interface Logged {
  atMs: number;
  /** Failures of this sort since that line. */
  since: number;
}

const lastLogged = new Map<string, Logged>();

/**
 * Counts a call to an endpoint, and logs a failure: if another endpoint answers, this line is the only record of it.
 * The line contains neither host nor key.
 */
export function noteUpstreamAttempt(
  { provider, model, outcome }: UpstreamAttempt,
  error: AppError | null,
  logger: Pick<LoggerService, 'warn'>,
): void {
  attempts.inc({ provider, model, outcome });
  if (error === null || QUIET.has(outcome)) return;
  const unlogged = unloggedOf(`${provider} ${model} ${outcome}`);
  if (unlogged === null) return;
  const { code, internal: cause } = error;
  logger.warn('A call to a provider failed', { provider, model, outcome, code, cause, unlogged });
}

/** Returns how many failures of a sort were not logged since the last line; null while no line is due. */
function unloggedOf(sort: string): number | null {
  const nowMs = performance.now();
  const last = lastLogged.get(sort);
  if (last !== undefined && nowMs - last.atMs < LOG_EVERY_MS) {
    last.since += 1;
    return null;
  }
  lastLogged.set(sort, { atMs: nowMs, since: 0 });
  return last?.since ?? 0;
}
