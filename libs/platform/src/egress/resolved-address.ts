/** One address of a host. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}
