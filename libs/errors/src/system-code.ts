/** Returns the code of an error that Node threw, such as ENOENT; null for anything without one. */
export function systemCodeOf(thrown: unknown): string | null {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : null;
}
