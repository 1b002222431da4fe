import { sentValue } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import { DomainRules, readDomain, type Domain } from './web-domains';
import { refusal, type Fields } from './named-tools';

const MOST_DOMAINS = 100;

/** Reads the settings of one tool or plugin; refuses an invalid one with its path in the request. */
export class SettingsReader {
  constructor(
    private readonly settings: Fields,
    /** E.g. `tools[0].parameters`. */
    private readonly path: string,
  ) {}

  /** Returns the path of a field in the request. */
  pathOf(name: string): string {
    return `${this.path}.${name}`;
  }

  int(name: string, { min, max }: { min: number; max: number }): number | null {
    const value = this.#given(name);
    if (value === null || (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)) {
      return value as number | null;
    }
    throw this.#refuseValue(name, `must be a whole number from ${min} to ${max}`);
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    const value = this.#given(name);
    if (value === null || values.includes(value as T)) return value as T | null;
    throw this.#refuseValue(name, `must be one of ${values.join(', ')}`);
  }

  text(name: string, maxLength: number): string | null {
    const value = this.#given(name);
    if (value === null || (typeof value === 'string' && value.length <= maxLength)) return value as string | null;
    throw this.#refuseValue(name, `must be a text of at most ${maxLength} characters`);
  }

  object(name: string): SettingsReader | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (typeof value !== 'object' || Array.isArray(value)) throw this.#refuseValue(name, 'must be an object');
    return new SettingsReader(value as Fields, this.pathOf(name));
  }

  /** Returns the rules of two lists of domains; each list may be absent. */
  domains(allowed: string, blocked: string): DomainRules {
    return new DomainRules(this.#domains(allowed), this.#domains(blocked));
  }

  #domains(name: string): readonly Domain[] {
    const value = this.#given(name);
    if (value === null) return [];
    if (!Array.isArray(value) || value.length > MOST_DOMAINS) {
      throw this.#refuseValue(name, `must be an array of at most ${MOST_DOMAINS} domains`);
    }
    return value.map((entry: unknown, index) => {
      const domain = readDomain(entry);
      if (domain !== null) return domain;
      throw refusal(`${this.pathOf(name)}[${index}]`, 'must be a domain such as example.com or example.com/docs');
    });
  }

  #refuseValue(name: string, reason: string): AppError {
    const path = this.pathOf(name);
    return refusal(path, `${reason}${sentValue(path, this.#given(name))}`);
  }

  #given(name: string): unknown {
    return this.settings[name] ?? null;
  }
}
