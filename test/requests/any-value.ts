import fc from 'fast-check';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonRecord = Readonly<Record<string, Json>>;

/** A JSON Schema as the OpenAPI document has them. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** How a marker looks; it is also valid base64, a valid name and a valid id. */
export const MARKER = /mk[0-9a-z]{10}/g;

/** A text that occurs nowhere else in its request, so that it can be found in what an upstream is sent. */
export const anyMarker = fc.stringMatching(/^mk[0-9a-z]{10}$/);

export const is = <const T extends Json>(value: T): fc.Arbitrary<T> => fc.constant(value);
export const oneOf = <const T extends Json>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
export const list = (item: fc.Arbitrary<Json>, minLength = 1, maxLength = 2): fc.Arbitrary<Json> =>
  fc.array(item, { minLength, maxLength });

/** An object with every member of `needed`, and any of `optional`. */
export function object(
  needed: Readonly<Record<string, fc.Arbitrary<Json>>>,
  optional: Readonly<Record<string, fc.Arbitrary<Json>>> = {},
): fc.Arbitrary<JsonRecord> {
  const requiredKeys = Object.keys(needed);
  return fc.record({ ...needed, ...optional }, { requiredKeys, noNullPrototype: true }) as fc.Arbitrary<JsonRecord>;
}

const anyNumberIn = ({ minimum = 0, maximum = 1_000_000 }: Schema): fc.Arbitrary<number> =>
  fc.integer({ min: Math.ceil(minimum * 1_000) + 1, max: Math.floor(maximum * 1_000) - 1 }).map((n) => n / 1_000);

const anyIntegerIn = ({ minimum = 0, maximum = 1_000_000 }: Schema): fc.Arbitrary<number> =>
  fc.integer({ min: Math.max(minimum, 2), max: Math.min(maximum, 1_000_000) });

/**
 * Any value of a schema that is not null; of texts, markers. Null if the schema says no more than that the value is
 * an object or a list of objects: what these may hold must be declared apart.
 */
export function anyOfSchema(schema: Schema): fc.Arbitrary<Json> | null {
  if (schema.anyOf !== undefined) return anyOfAll(schema.anyOf);
  if (schema.const !== undefined) return schema.const === null ? null : is(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum.filter((value) => value !== null));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const type = types.find((one) => one !== 'null');
  return type === undefined || !Object.hasOwn(BY_TYPE, type) ? null : BY_TYPE[type]!(schema);
}

const BY_TYPE: Readonly<Record<string, (schema: Schema) => fc.Arbitrary<Json> | null>> = {
  boolean: () => fc.boolean(),
  integer: anyIntegerIn,
  number: anyNumberIn,
  string: () => anyMarker,
  array: ({ items }) => (items === undefined ? null : listOrNull(anyOfSchema(items))),
  object: anyObjectOf,
};

function listOrNull(item: fc.Arbitrary<Json> | null): fc.Arbitrary<Json> | null {
  return item === null ? null : list(item);
}

/** Null as soon as one alternative is not described. */
function anyOfAll(schemas: readonly Schema[]): fc.Arbitrary<Json> | null {
  const described = schemas.filter(({ type }) => type !== 'null').map(anyOfSchema);
  const known = described.filter((one) => one !== null);
  return known.length < described.length ? null : fc.oneof(...known);
}

function anyObjectOf({ properties, additionalProperties: others }: Schema): fc.Arbitrary<Json> | null {
  if (typeof others === 'object') {
    const value = anyOfSchema(others);
    return (
      value &&
      (fc.dictionary(anyMarker, value, { minKeys: 1, maxKeys: 2, noNullPrototype: true }) as fc.Arbitrary<Json>)
    );
  }
  if (properties === undefined) return null;
  const members = Object.entries(properties).map(([name, schema]) => [name, anyOfSchema(schema)] as const);
  if (members.some(([, value]) => value === null)) return null;
  return object({}, Object.fromEntries(members) as Record<string, fc.Arbitrary<Json>>);
}
