import { sentValue } from '@libs/contracts';
import { isObject, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';

/**
 * An object of a caller's request, read field by field. Null counts as absent. The error for a field of the wrong
 * type has its path, e.g. `messages[0].content[1].text`, in the message and as `metadata.param`, and says what was sent
 * as `sentValue` does.
 */
export class CheckedObject {
  constructor(
    readonly members: JsonObject,
    /** Empty for the body itself. */
    readonly path = '',
  ) {}

  static of(value: unknown, path: string): CheckedObject {
    if (isObject(value)) return new CheckedObject(value, path);
    throw refused(path, `must be an object${sentValue(path, value)}`);
  }

  has(name: string): boolean {
    return this.value(name) !== undefined;
  }

  value(name: string): unknown {
    return Object.hasOwn(this.members, name) ? (this.members[name] ?? undefined) : undefined;
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  refuse(name: string, reason: string): AppError {
    return refused(this.pathOf(name), reason);
  }

  string(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#refuseValue(name, 'must be a string');
  }

  requiredString(name: string): string {
    const value = this.string(name);
    if (value === undefined) throw this.refuse(name, 'is required');
    return value;
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'number') return value;
    throw this.#refuseValue(name, 'must be a number');
  }

  integer(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined || Number.isSafeInteger(value)) return value;
    throw this.#refuseValue(name, 'must be an integer');
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.#refuseValue(name, 'must be a boolean');
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const known = allowed.find((one) => one === value);
    if (known === undefined) throw this.#refuseValue(name, `must be one of ${allowed.join(', ')}`);
    return known;
  }

  /**
   * Reads a setting with a fixed list of values. Leaves an unknown value out and adds the setting's name to `unread`.
   */
  knownWord<T extends string>(name: string, known: readonly T[], unread: Set<string>): T | undefined {
    const value = this.string(name);
    const word = known.find((one) => one === value);
    if (value !== undefined && word === undefined) unread.add(this.pathOf(name));
    return word;
  }

  object(name: string): CheckedObject | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : CheckedObject.of(value, this.pathOf(name));
  }

  requiredObject(name: string): CheckedObject {
    const object = this.object(name);
    if (object === undefined) throw this.refuse(name, 'is required');
    return object;
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw this.#refuseValue(name, 'must be an array');
  }

  objects(name: string): readonly CheckedObject[] {
    return (this.list(name) ?? []).map((value, index) => CheckedObject.of(value, `${this.pathOf(name)}[${index}]`));
  }

  strings(name: string): readonly string[] | undefined {
    const list = this.list(name);
    if (list === undefined || list.every((value) => typeof value === 'string')) return list;
    throw this.refuse(name, 'must be an array of strings');
  }

  /** Reads an object whose values all have the same type. */
  record<T extends 'string' | 'number'>(
    name: string,
    type: T,
  ): Record<string, T extends 'string' ? string : number> | undefined {
    const members = this.object(name)?.members;
    if (members === undefined || Object.values(members).every((value) => typeof value === type)) {
      return members as Record<string, T extends 'string' ? string : number> | undefined;
    }
    throw this.refuse(name, `must be an object of ${type}s`);
  }

  #refuseValue(name: string, reason: string): AppError {
    return this.refuse(name, `${reason}${sentValue(this.pathOf(name), this.value(name))}`);
  }
}

function refused(path: string, reason: string): AppError {
  return new AppError('invalid_request', `${path} ${reason}`, { metadata: { param: path } });
}
