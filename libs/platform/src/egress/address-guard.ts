import { isPublicAddress } from '@libs/contracts';
import ipaddr from 'ipaddr.js';
import { refusedUrl, type EgressTarget } from './egress-target';
import type { ResolvedAddress } from './resolved-address';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/**
 * Checks where a URL leads.
 *
 * An address is public if no registry gives its range a special purpose. IPv6 forms that contain an IPv4 address
 * (mapped, NAT64, 6to4, Teredo) have a special purpose and are never public, whatever address they contain.
 */
export class AddressGuard {
  readonly #allowed: readonly Range[];

  /** @param cidrs ranges as `10.0.0.0/8` · throws Error for an invalid range */
  constructor(cidrs: readonly string[]) {
    this.#allowed = cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /** @throws AppError invalid_request if no name server's answer could make the target acceptable */
  judgeUnresolved(target: EgressTarget): void {
    if (target.literal !== null) this.judge(target, [target.literal]);
    else if (this.#allowed.length === 0 && target.onlyAllowedBecause !== null) {
      throw refusedUrl(target.subject, target.onlyAllowedBecause);
    }
  }

  /**
   * Returns the addresses to connect to.
   *
   * A single forbidden address refuses the target, so that a name server cannot hide it among others. Only `localhost`,
   * which no name server resolves, may be reached at those of its addresses that are allowed.
   * @throws AppError invalid_request
   */
  judge(target: EgressTarget, addresses: readonly ResolvedAddress[]): readonly ResolvedAddress[] {
    const allowed = addresses.filter(({ address }) => this.#isAllowed(address));
    if (allowed.length === addresses.length) return addresses;
    if (target.hostname === 'localhost' && allowed.length > 0) return allowed;
    const notAllowed = addresses.filter((address) => !allowed.includes(address));
    if (target.onlyAllowedBecause !== null) throw refusedUrl(target.subject, target.onlyAllowedBecause);
    if (!notAllowed.every(({ address }) => isPublicAddress(address))) {
      throw refusedUrl(target.subject, 'its host is not at a public address');
    }
    return addresses;
  }

  #isAllowed(text: string): boolean {
    const address = parse(text);
    return address !== null && this.#allowed.some((range) => contains(range, address));
  }
}

/** Returns whether two texts mean the same address, including an IPv4 address and its mapped form. */
export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [parse(one), parse(other)];
  return first !== null && second !== null && first.toNormalizedString() === second.toNormalizedString();
}

function parse(text: string): Address | null {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}

function contains([network, bits]: Range, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits);
}
