import { lookup } from 'node:dns/promises';
import type { ResolvedAddress } from './resolved-address';

/** Every address that the system's resolver, with its hosts file, has for a name. */
export async function systemResolver(hostname: string): Promise<ResolvedAddress[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}
