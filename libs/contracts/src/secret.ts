import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must never be printed: every implicit conversion to text gives `[redacted]`.
 * Only `reveal()` returns the value; its caller is responsible for where the text goes.
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
