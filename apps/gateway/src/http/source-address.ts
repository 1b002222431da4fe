import ipaddr from 'ipaddr.js';

const BYTES_OF_IPV6_NETWORK = 8;

/**
 * Returns the key that a source address counts for: an IPv4 address itself, an IPv6 address its /64, because one
 * customer has all addresses in it. Texts that are no address (a proxy may forward anything) count together.
 */
export function sourceOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, BYTES_OF_IPV6_NETWORK)).toString('hex');
}
