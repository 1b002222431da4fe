/** Fields of a response that a change cannot set. Clients may send them back unchanged. */
export interface ReadOnlyMembers<View> {
  /** Set by creation alone. Accepted with their present value only. */
  readonly created?: readonly (keyof View & string)[];
  /** Accepted with their present value only. */
  readonly fixed: readonly (keyof View & string)[];
  /** Accepted with any value: they change by themselves or with the update, so the value read may be old. */
  readonly moving: readonly (keyof View & string)[];
}

/**
 * Returns the names that no request sets: a create request may contain them, copied from an earlier response, and they
 * are ignored.
 */
export function readOnlyNames<View>({ fixed, moving }: ReadOnlyMembers<View>): readonly string[] {
  return [...fixed, ...moving];
}
