import { isObject, type JsonObject } from '../http/json-members';

const MAXIMUM_DEPTH = 24;
/** A schema can ask for more values than there is memory: beyond these it gets null. */
const MAXIMUM_VALUES = 20_000;
const FILLER_WORD = 'sandbox';
/** Candidates for a string with a `pattern`; short, so that no pattern can take long on them. */
const PATTERN_CANDIDATES = [
  FILLER_WORD,
  'a',
  'A',
  'SANDBOX',
  '1',
  '0',
  '12',
  '123',
  '1234',
  '12345',
  'a1',
  'AB',
  'ABC',
];
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '12:00:00Z',
  'date-time': '2026-01-01T12:00:00Z',
  duration: 'PT1S',
  email: 'sandbox@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** The type that a keyword implies in a schema without `type`. */
const TYPE_OF_KEYWORD: Readonly<Record<string, string>> = {
  properties: 'object',
  required: 'object',
  items: 'array',
  prefixItems: 'array',
  minimum: 'number',
  maximum: 'number',
  multipleOf: 'number',
};

/**
 * Returns a value that fits a JSON Schema: required fields, enums, ranges, lengths, formats, local references. The
 * first free string is `text`; a `pattern` is met only if one of a few short candidates matches it.
 */
export function exampleOf(schema: unknown, text: string): unknown {
  return new SchemaExample(schema, text).make(schema, 0, 0);
}

class SchemaExample {
  private isTextPlaced = false;
  private values = 0;

  constructor(
    private readonly root: unknown,
    private readonly text: string,
  ) {}

  /** `ordinal` distinguishes the elements of one array, for `uniqueItems`. */
  make(schema: unknown, depth: number, ordinal: number): unknown {
    this.values += 1;
    if (depth > MAXIMUM_DEPTH || this.values > MAXIMUM_VALUES) return null;
    if (!isObject(schema)) return this.freeString(ordinal);
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[ordinal % schema.enum.length];
    const inner = this.unfold(schema);
    if (inner !== null) return this.make(inner, depth + 1, ordinal);
    return this.makeTyped(typeOf(schema), schema, depth, ordinal);
  }

  /** Returns the schema that `$ref`, `allOf`, `anyOf` or `oneOf` leads to, or null if none is used. */
  private unfold(schema: JsonObject): unknown {
    if (typeof schema.$ref === 'string') return resolvePointer(this.root, schema.$ref);
    if (Array.isArray(schema.allOf)) return this.merge(schema, schema.allOf);
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = schema[keyword];
      if (!Array.isArray(branches) || branches.length === 0) continue;
      const { [keyword]: _, ...rest } = schema;
      const branch: unknown =
        branches.find((candidate) => isObject(candidate) && !('$ref' in candidate)) ?? branches[0];
      return this.merge(rest, [branch]);
    }
    return null;
  }

  private merge(schema: JsonObject, parts: readonly unknown[]): JsonObject {
    const { allOf: _, ...rest } = schema;
    let merged: JsonObject = rest;
    for (const part of parts) {
      const resolved = isObject(part) && typeof part.$ref === 'string' ? resolvePointer(this.root, part.$ref) : part;
      if (!isObject(resolved)) continue;
      const properties = { ...asObject(merged.properties), ...asObject(resolved.properties) };
      const required = [...asList(merged.required), ...asList(resolved.required)];
      merged = { ...merged, ...resolved };
      if (Object.keys(properties).length > 0) merged = { ...merged, properties };
      if (required.length > 0) merged = { ...merged, required };
    }
    return merged;
  }

  private makeTyped(type: string, schema: JsonObject, depth: number, ordinal: number): unknown {
    switch (type) {
      case 'object':
        return this.makeObject(schema, depth);
      case 'array':
        return this.makeArray(schema, depth);
      case 'integer':
      case 'number':
        return makeNumber(schema, type === 'integer', ordinal);
      case 'boolean':
        return ordinal % 2 === 0;
      case 'null':
        return null;
      default:
        return this.makeString(schema, ordinal);
    }
  }

  private makeObject(schema: JsonObject, depth: number): JsonObject {
    const properties = asObject(schema.properties);
    const names = new Set(asList(schema.required).filter((name) => typeof name === 'string'));
    return Object.fromEntries([...names].map((name) => [name, this.make(properties[name], depth + 1, 0)]));
  }

  private makeArray(schema: JsonObject, depth: number): unknown[] {
    const prefix = asList(schema.prefixItems);
    const maximum = typeof schema.maxItems === 'number' ? schema.maxItems : Infinity;
    const wished = Math.max(numberOr(schema.minItems, 0), prefix.length, depth < 8 && isObject(schema.items) ? 1 : 0);
    const count = Math.min(wished, maximum, Math.max(0, MAXIMUM_VALUES - this.values));
    return Array.from({ length: count }, (_, index) =>
      this.make(index < prefix.length ? prefix[index] : schema.items, depth + 1, index),
    );
  }

  private makeString(schema: JsonObject, ordinal: number): string {
    const { format, pattern } = schema;
    if (typeof format === 'string' && FORMATS[format] !== undefined) return FORMATS[format];
    const minimum = numberOr(schema.minLength, 0);
    const maximum = numberOr(schema.maxLength, Infinity);
    if (typeof pattern === 'string') return matching(pattern, minimum, maximum);
    if (minimum === 0 && maximum === Infinity) return this.freeString(ordinal);
    const padded = FILLER_WORD.padEnd(Math.min(minimum, 10_000), '.');
    return padded.slice(0, maximum);
  }

  private freeString(ordinal: number): string {
    if (this.isTextPlaced || this.text === '') return ordinal === 0 ? FILLER_WORD : `${FILLER_WORD}-${ordinal}`;
    this.isTextPlaced = true;
    return this.text;
  }
}

/** Returns the first number that fits: 1 if allowed, else one at or next to a bound. */
function makeNumber(schema: JsonObject, isInteger: boolean, ordinal: number): number {
  const low = Math.max(numberOr(schema.minimum, -Infinity), numberOr(schema.exclusiveMinimum, -Infinity));
  const high = Math.min(numberOr(schema.maximum, Infinity), numberOr(schema.exclusiveMaximum, Infinity));
  const step = numberOr(schema.multipleOf, 1);
  const steps = [
    Math.ceil(low / step),
    Math.floor(low / step) + 1,
    Math.floor(high / step),
    Math.ceil(high / step) - 1,
  ];
  const candidates = [1, low, high, ...steps.map((count) => count * step), (low + high) / 2, 0];
  const fits = (value: number): boolean => fitsNumber(value, schema, isInteger);
  const value = candidates.find(fits) ?? 0;
  const others = [value + ordinal * step, value - ordinal * step];
  return others.find(fits) ?? value;
}

function fitsNumber(value: number, schema: JsonObject, isInteger: boolean): boolean {
  if (!Number.isFinite(value) || (isInteger && !Number.isInteger(value))) return false;
  const isWithin =
    value >= numberOr(schema.minimum, -Infinity) &&
    value <= numberOr(schema.maximum, Infinity) &&
    value > numberOr(schema.exclusiveMinimum, -Infinity) &&
    value < numberOr(schema.exclusiveMaximum, Infinity);
  const steps = value / numberOr(schema.multipleOf, 1);
  return isWithin && (schema.multipleOf === undefined || Math.abs(steps - Math.round(steps)) < 1e-9);
}

function typeOf(schema: JsonObject): string {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) {
    const named = type.find((entry) => typeof entry === 'string' && entry !== 'null');
    return typeof named === 'string' ? named : 'null';
  }
  const keyword = Object.keys(TYPE_OF_KEYWORD).find((name) => name in schema);
  return (keyword && TYPE_OF_KEYWORD[keyword]) ?? 'string';
}

function matching(pattern: string, minimum: number, maximum: number): string {
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, 'u');
  } catch {
    return FILLER_WORD;
  }
  const candidates = [...PATTERN_CANDIDATES, ...Object.values(FORMATS)];
  const fits = (text: string): boolean =>
    text.length >= minimum && text.length <= maximum && text.length <= 20 && expression.test(text);
  return candidates.find(fits) ?? FILLER_WORD;
}

function resolvePointer(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return null;
  let value = root;
  for (const token of reference.slice(1).split('/').slice(1)) {
    const name = decodePointer(token);
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value ?? {};
}

function decodePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
