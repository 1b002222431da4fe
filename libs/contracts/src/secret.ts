import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must never be printed: every implicit way to text gives `[redacted]`.
 * `reveal()` is the one way to the value; whoever calls it answers for where the text goes.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
