import { BlockList, isIP } from 'node:net';

/** Addresses that only mean something inside a network, or have a special purpose (RFC 6890, and Azure's own). */
const SPECIAL = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  SPECIAL.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const) {
  SPECIAL.addSubnet(network, prefix, 'ipv6');
}
/** The only IPv6 addresses of public hosts (RFC 4291 §2.4); mapped, translated and local ones lie outside. */
const GLOBAL_IPV6 = new BlockList();
GLOBAL_IPV6.addSubnet('2000::', 3, 'ipv6');

/** Returns whether a text is a publicly reachable address; false for anything that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !SPECIAL.check(address, 'ipv4');
    case 6:
      // An address with a zone is local.
      return !address.includes('%') && GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Matches names that contain an IPv4 address: there are services that resolve them to that address. */
const ADDRESS_IN_NAME = /(?<![\da-z])(\d{1,3})([.-])(\d{1,3})\2(\d{1,3})\2(\d{1,3})(?![\da-z])/i;

/** Services that resolve a name to the address in it, which they take in more forms than the one above. */
const ADDRESS_SERVICE = /(?:^|\.)(?:nip|sslip|xip)\.io\.?$/i;

/**
 * Returns whether a host name contains an address that is not public, such as `10.0.0.1.nip.io`, or may contain one in a
 * form that is not read here, such as `7f000001.nip.io`.
 */
export function namesPrivateAddress(hostname: string): boolean {
  const [, first, , ...others] = ADDRESS_IN_NAME.exec(hostname) ?? [];
  if (first === undefined) return ADDRESS_SERVICE.test(hostname);
  const address = [first, ...others].map(Number).join('.');
  return isIP(address) === 4 && !isPublicAddress(address);
}
