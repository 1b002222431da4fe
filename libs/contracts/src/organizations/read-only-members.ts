/** Members of an answer that no body sets. Clients may send them back with the rest of what they read. */
export interface ReadOnlyMembers<View> {
  /** Taken with their present value only. */
  readonly fixed: readonly (keyof View & string)[];
  /** Taken with any value: they change by themselves or by the very update, so what was read may be old. */
  readonly moving: readonly (keyof View & string)[];
}

/** Names of all of them: a body that creates something may have them from something that was read, and sets none. */
export function readOnlyNames<View>({ fixed, moving }: ReadOnlyMembers<View>): readonly string[] {
  return [...fixed, ...moving];
}
