import type { Located } from './catalogue-document';
import type { Endpoint } from './catalogue-entries';
import { traitsOf } from './endpoint-traits';

/** Reports two endpoints that routing could not distinguish, e.g. the same file under two names. */
export function reportTwins(place: Located, endpoints: readonly Endpoint[]): void {
  const seen = new Set<string>();
  for (const endpoint of endpoints) {
    for (const api of endpoint.apis) {
      const key = JSON.stringify([endpoint.provider.slug, traitsOf(endpoint).key, api]);
      if (seen.has(key)) {
        place.report(`names the same endpoint of ${endpoint.provider.slug} twice for ${api}`);
        return;
      }
      seen.add(key);
    }
  }
}
