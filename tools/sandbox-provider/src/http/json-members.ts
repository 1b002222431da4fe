import { SandboxError } from './sandbox-error';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A JSON body that is an object, or 400. */
export function parseJsonObject(body: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new SandboxError(400, 'The body of this request could not be parsed as JSON');
  }
  if (!isObject(value)) throw new SandboxError(400, 'The body of this request must be a JSON object');
  return value;
}

/** Reads a list; empty if the field is absent or null. */
export function listMember(object: JsonObject, name: string): readonly unknown[] {
  const value = object[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new SandboxError(400, `'${name}' must be an array`, name);
  return value;
}

export function requiredListMember(object: JsonObject, name: string): readonly unknown[] {
  if (object[name] === undefined) throw new SandboxError(400, `Missing required parameter: '${name}'`, name);
  const list = listMember(object, name);
  if (list.length === 0) throw new SandboxError(400, `'${name}' must not be empty`, name);
  return list;
}

/** Reads a whole number within bounds; null if the field is absent or null. */
export function integerMember(object: JsonObject, name: string, minimum: number, maximum: number): number | null {
  const value = object[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < minimum || value > maximum) {
    throw new SandboxError(400, `'${name}' must be an integer from ${minimum} to ${maximum}`, name);
  }
  return value;
}

export function booleanMember(object: JsonObject, name: string, fallback: boolean): boolean {
  const value = object[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'boolean') throw new SandboxError(400, `'${name}' must be a boolean`, name);
  return value;
}

/** Reads strings from a field that is one string or a list of them. */
export function stringsMember(object: JsonObject, name: string, maximum: number): string[] {
  const value = object[name];
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? value : [value];
  const isValid = list.length <= maximum && list.every((entry) => typeof entry === 'string');
  if (!isValid) throw new SandboxError(400, `'${name}' must be a string or at most ${maximum} strings`, name);
  return list.filter((entry) => entry !== '');
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
