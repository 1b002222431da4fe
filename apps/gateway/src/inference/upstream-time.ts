import type { Api } from '@libs/inference';
import { durationHistogram, type DurationSeries } from '@libs/platform';

const upstreamTime = durationHistogram({
  name: 'sluice_upstream_first_byte_seconds',
  help: 'From the call to the provider to its answer, or the first event of it',
  labelNames: ['api', 'provider'],
});

/** By provider and API. Cached, because finding a series by its labels costs more than counting in it. */
const upstreamSeries = new Map<string, Partial<Record<Api, DurationSeries>>>();

/** Records the time of a provider call that has answered, or begun to. */
export function observeUpstream(api: Api, provider: string, seconds: number): void {
  let ofProvider = upstreamSeries.get(provider);
  if (ofProvider === undefined) upstreamSeries.set(provider, (ofProvider = {}));
  (ofProvider[api] ??= upstreamTime.labels({ api, provider })).observe(seconds);
}
