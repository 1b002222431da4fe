/** Returns the code of an error that Node threw, such as ENOENT; null for anything without one. */
export function systemCodeOf(thrown: unknown): string | null {
  const code: unknown = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;
  return code === undefined ? null : String(code);
}
