import ipaddr from 'ipaddr.js';

const BYTES_OF_IPV6_NETWORK = 8;

/**
 * Under what a source address is counted: an IPv4 address as it is, an IPv6 address by its /64, of which one
 * customer has all addresses. What is no address (a proxy may forward anything) is counted together.
 */
export function sourceOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, BYTES_OF_IPV6_NETWORK)).toString('hex');
}
