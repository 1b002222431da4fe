/** Members of a response that no request sets. Clients may send them back with the rest of what they read. */
export interface ReadOnlyMembers<View> {
  /** Accepted with their present value only. */
  readonly fixed: readonly (keyof View & string)[];
  /** Accepted with any value: they change by themselves or with the update, so the value read may be old. */
  readonly moving: readonly (keyof View & string)[];
}

/** Returns all their names: a create request may have them, copied from an earlier response, and they are ignored. */
export function readOnlyNames<View>({ fixed, moving }: ReadOnlyMembers<View>): readonly string[] {
  return [...fixed, ...moving];
}
