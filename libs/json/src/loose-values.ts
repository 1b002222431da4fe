/** An object from an upstream, read leniently: a field of the wrong type counts as missing. */
export type JsonObject = Readonly<Record<string, unknown>>;

const EMPTY: JsonObject = {};

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : EMPTY;
}

export function objectOrNull(value: unknown): JsonObject | null {
  return isObject(value) ? value : null;
}

/** Returns the objects in an array; none if the value is not an array. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns all elements of an array in order; one that is no object becomes an empty object. */
export function elementsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** Returns the object without undefined fields, because absent fields must not be written. */
export function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const found: Partial<T> = {};
  for (const name in object) if (object[name] !== undefined) found[name] = object[name];
  return found as { [K in keyof T]: Exclude<T[K], undefined> };
}
