import ipaddr from 'ipaddr.js';
import { isPublicAddress } from './public-address';

type Special = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[];
const rangesOf = ({ SpecialRanges: all }: { SpecialRanges: object }): string[] =>
  Object.values(all as Record<string, Special | Special[number]>)
    .flatMap((one) => (Array.isArray(one[0]) ? (one as Special) : [one as Special[number]]))
    .map(([network]) => network.toString());

describe(isPublicAddress.name, () => {
  it.each(['93.184.216.34', '168.63.129.15', '168.63.129.17', '2606:4700::1111', '2001:4860:4860::8888'])(
    'takes %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['168.63.129.16', '::ffff:8.8.8.8', 'fe80::1%eth0', '2606:4700::1111%1', '127.1', '8.8.8', 'host', ''])(
    'refuses %j',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );

  it('refuses every range that a registry gives a special purpose', () => {
    const ranges = [...rangesOf(ipaddr.IPv4.prototype as never), ...rangesOf(ipaddr.IPv6.prototype as never)];
    expect(ranges.length).toBeGreaterThan(30);
    expect(ranges.filter(isPublicAddress)).toEqual([]);
  });
});
