/** Fields of a response that no request sets. Clients may send them back unchanged. */
export interface ReadOnlyMembers<View> {
  /** Accepted with their present value only. */
  readonly fixed: readonly (keyof View & string)[];
  /** Accepted with any value: they change by themselves or with the update, so the value read may be old. */
  readonly moving: readonly (keyof View & string)[];
}

/**
 * Returns all their names: a create request may contain them, copied from an earlier response, and they are ignored.
 */
export function readOnlyNames<View>({ fixed, moving }: ReadOnlyMembers<View>): readonly string[] {
  return [...fixed, ...moving];
}
