import type { LoggerService } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { counter } from './metrics';

const faults = counter({
  name: 'sluice_own_faults_total',
  help: 'Calls to providers that failed in this process and not at the provider, by code',
  labelNames: ['code'],
});

/**
 * Counts a call to a provider that failed inside this process, and logs it if the error was unexpected. Another
 * provider may have answered, and then nothing else would report the bug.
 */
export function noteOwnFault(error: AppError, providerSlug: string, logger: Pick<LoggerService, 'error'>): void {
  const { code } = error;
  faults.inc({ code });
  if (error.status !== 500) return;
  logger.error('A call failed before its provider', { err: error, code, provider: providerSlug });
}
