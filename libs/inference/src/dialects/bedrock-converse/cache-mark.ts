import type { CacheMark } from '../../model/conversation';
import type { LossLog } from '../../model/loss-report';
import type { ModelFamily } from './traits';

/** Returns the cache point to append, as a list; an empty list if the model takes no cache point there. */
export function cachePoint(
  cache: CacheMark | undefined,
  place: 'tools' | 'messages',
  { cachePoints }: ModelFamily,
  log: LossLog,
): readonly object[] {
  if (cache === undefined) return [];
  if (cachePoints === 'nowhere' || (cachePoints === 'in-messages' && place === 'tools')) {
    log.drop('cache_control');
    return [];
  }
  const takesTtl = cachePoints === 'everywhere';
  if (!takesTtl && cache.ttl === '1h') log.approximate('cache_control.ttl');
  return [{ cachePoint: { type: 'default', ...(takesTtl && cache.ttl !== undefined && { ttl: cache.ttl }) } }];
}
