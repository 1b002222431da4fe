/** The environment is invalid. The message names every bad variable and what it must be, never a value. */
export class EnvError extends Error {
  override readonly name = 'EnvError';

  constructor(readonly problems: readonly string[]) {
    super(`Bad environment: ${problems.join('; ')}`);
  }
}
