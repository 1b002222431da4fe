import { providerOfQuota } from '@libs/inference';
import { counter, gauge } from '@libs/platform';

const open = gauge({
  name: 'sluice_batch_breakers_open',
  help: 'Quotas of a provider that this process tries with one batch line at a time, as calls only failed',
  labelNames: ['provider'],
});
const openings = counter({
  name: 'sluice_batch_breaker_openings_total',
  help: 'Times that batch lines began to wait behind a breaker, by what it is of and by provider',
  labelNames: ['scope', 'provider'],
});

/** `caller`: the waiting lines belong to one API key. */
export function countBreakerOpening(scope: 'quota' | 'caller', provider: string): void {
  openings.inc({ scope, provider });
}

/** @param quotas those whose breakers are open now */
export function showOpenBreakers(quotas: readonly string[]): void {
  open.reset();
  for (const quota of quotas) open.inc({ provider: providerOfQuota(quota) });
}
