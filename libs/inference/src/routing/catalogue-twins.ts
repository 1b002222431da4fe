import type { Located } from './catalogue-document';
import type { Endpoint } from './catalogue-entries';

/** Reports two endpoints that routing could not tell apart, e.g. the same file under two names. */
export function reportTwins(place: Located, endpoints: readonly Endpoint[]): void {
  const seen = new Set<string>();
  for (const { provider, upstreamModel, region, quantization, apis } of endpoints) {
    for (const api of apis) {
      const key = JSON.stringify([provider.slug, upstreamModel, region, quantization, api]);
      if (seen.has(key)) {
        place.report(`names the same endpoint of ${provider.slug} twice for ${api}`);
        return;
      }
      seen.add(key);
    }
  }
}
