import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ResolvedAddress } from './resolved-address';

const PATH = '/etc/hosts';
const LOOPBACK: readonly ResolvedAddress[] = [{ address: '127.0.0.1', family: 4 }];

/** Returns the addresses that the hosts file of this machine or container has for a name; empty if it has none. */
export function addressesInHostsFile(hostname: string, path = PATH): readonly ResolvedAddress[] {
  const name = hostname.toLowerCase();
  const found = textOf(path)
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
    .filter(([, ...names]) => names.some((one) => one.toLowerCase() === name))
    .map(([address = '']) => ({ address, family: isIP(address) }))
    .filter((one): one is ResolvedAddress => one.family !== 0);
  // No name server resolves it (RFC 6761 §6.3).
  return found.length === 0 && name === 'localhost' ? LOOPBACK : found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
