import { join } from 'node:path';
import { getMetadataStorage } from 'class-validator';
import { targetConstructorToSchema } from 'class-validator-jsonschema';
import { buildGenerator, programFromConfig, type JsonSchemaGenerator, type Program } from 'typescript-json-schema';
import * as contracts from '@libs/contracts';

export type Schema = { [keyword: string]: unknown };
export type Schemas = Record<string, Schema>;

const OPTIONS = { required: true, noExtraProps: true, strictNullChecks: true, ignoreErrors: true };
const COMPONENTS = '#/components/schemas/';
/** Matches sentences that only state the source of a description. */
const SOURCES = /\binterface\b|\bspec [\dE]|^Ours\.$|^`\w+` of the interface/;

/** Schemas of types that some files declare, from TypeScript's type checker, with comments as descriptions. */
export class TypeSchemas {
  readonly #checker: ReturnType<Program['getTypeChecker']>;
  readonly #generator: JsonSchemaGenerator;

  /** @param files paths under `root`, the folder of the repository */
  constructor(root: string, files: readonly string[]) {
    const program = programFromConfig(
      join(root, 'tsconfig.base.json'),
      files.map((file) => join(root, file)),
    );
    const generator = buildGenerator(program, OPTIONS);
    if (generator === null) throw new Error(`The types of ${files.join(' and ')} cannot be read`);
    this.#checker = program.getTypeChecker();
    this.#generator = generator;
  }

  /** Returns the schemas of the named types and of all types that they refer to. */
  of(names: Iterable<string>): Schemas {
    const found: Schemas = {};
    for (const name of names) {
      const { $schema: _dialect, definitions = {}, ...schema } = this.#generator.getSchemaForSymbol(name);
      this.#describeDerived(name, (schema.properties ?? {}) as Schemas);
      const all = { ...definitions, [name]: schema } as Schemas;
      for (const [each, part] of Object.entries(all)) found[componentName(each)] = mended(part) as Schema;
    }
    return found;
  }

  /** Gives fields that a mapped type has renamed the comments of the fields that they come from. */
  #describeDerived(name: string, properties: Schemas): void {
    const declarations = this.#generator.getSymbols(name);
    if (declarations.length !== 1) throw new Error(`One type must be called ${name}, and ${declarations.length} are`);
    for (const field of this.#checker.getDeclaredTypeOfSymbol(declarations[0]!.symbol).getProperties()) {
      const schema = properties[field.name];
      const { links } = field as unknown as { readonly links?: { readonly syntheticOrigin?: typeof field } };
      const comment = links?.syntheticOrigin?.getDocumentationComment(this.#checker) ?? [];
      const description = comment.map(({ text }) => text).join('');
      if (description !== '' && schema !== undefined) schema['description'] ??= description;
    }
  }
}

/** Adds to the schemas of classes what their validators say; an unknown field is refused, or passed on. */
export function withValidators(name: string, typed: Schema): Schema {
  const target = (contracts as unknown as Record<string, unknown>)[name];
  if (typeof target !== 'function') throw new Error(`libs/contracts has no class ${name}`);
  const rules = (targetConstructorToSchema(target, VALIDATORS).properties ?? {}) as Schemas;
  const properties = (typed['properties'] ?? {}) as Schemas;
  const merged = Object.entries(properties).map(([member, schema]) => [member, merge(schema, rules[member] ?? {})]);
  const schema: Schema = { ...typed, properties: Object.fromEntries(merged) as Schemas };
  delete schema['additionalProperties'];
  return schema;
}

const VALIDATORS = {
  classValidatorMetadataStorage: getMetadataStorage(),
  refPointerPrefix: COMPONENTS,
  additionalConverters: {
    // Types describe these fields; a schema can state nothing more.
    isWellFormed: {},
    conditionalValidation: {},
    isUsdNumber: { type: 'number', minimum: 0 },
    isSpendable: { type: 'number', exclusiveMinimum: 0 },
    isUtcInstant: { type: 'string', format: 'date-time' },
    isIssuerUrl: { type: 'string', format: 'uri' },
    isCallbackUrl: { type: 'string', format: 'uri' },
    isNameText: lengthOf,
    isStoredText: lengthOf,
    isCredentialKey: { type: 'string', writeOnly: true },
    areKeyHashes: { minItems: 1, maxItems: 100, uniqueItems: true },
    areModelNames: { maxItems: 100, uniqueItems: true },
    areUserIds: { maxItems: 100, uniqueItems: true },
  },
  // The library's types are those of OpenAPI 3.0, in which an exclusive bound is not a number.
} as unknown as Parameters<typeof targetConstructorToSchema>[1];

function lengthOf({ constraints }: { readonly constraints?: unknown[] }): Record<string, unknown> {
  const [minLength, maxLength] = (constraints ?? []) as readonly number[];
  return { type: 'string', ...(minLength !== 0 && { minLength }), maxLength };
}

/** If both state the type of a value, types have precedence, because validators do not know about null. */
function merge(typed: Schema, rule: Schema): Schema {
  const { type, items, enum: values, not: _not, $ref: _ref, description: _told, ...bounds } = rule;
  const merged: Schema = { ...typed, ...bounds };
  if (type === 'integer') merged['type'] = isNullable(typed) ? ['integer', 'null'] : 'integer';
  if (items !== undefined && typeof typed['items'] === 'object') {
    merged['items'] = merge(typed['items'] as Schema, items as Schema);
  }
  if (Array.isArray(values) && !['enum', 'const', 'anyOf', '$ref'].some((key) => key in typed)) {
    merged['enum'] = isNullable(typed) ? [...(values as unknown[]), null] : values;
  }
  return merged;
}

function isNullable({ type, anyOf }: Schema): boolean {
  if (Array.isArray(anyOf)) return (anyOf as Schema[]).some(isNullable);
  return Array.isArray(type) ? type.includes('null') : type === 'null';
}

/** Component names have fewer characters than types. */
function componentName(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, '_');
}

/** Converts from the generator's dialect to that of OpenAPI, and removes our own references. */
function mended(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mended);
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, description, properties = {}, ...rest } = value as Schema;
  const told = typeof description === 'string' ? toldPublicly(description) : '';
  const fields = mendedEach(properties as Schemas);
  return {
    ...(told !== '' && { description: told }),
    ...mendedEach(rest),
    ...(Object.keys(fields).length > 0 && { properties: fields }),
    ...(typeof $ref === 'string' && referenceTo(decodeURIComponent($ref.replace('#/definitions/', '')))),
  };
}

function mendedEach(parts: Schema): Schema {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, mended(part)]));
}

function referenceTo(name: string): Schema {
  const dictionary = /^Record<string,(.+)>$/.exec(name);
  return dictionary === null ? { $ref: COMPONENTS + componentName(name) } : dictionaryOf(dictionary[1]!);
}

/** Returns a `Record` as a schema: the generator ignores the types of its fields. */
function dictionaryOf(values: string): Schema {
  const type = ['string', 'number', 'boolean'].find((each) => each === values);
  return { type: 'object', additionalProperties: type === undefined ? {} : { type } };
}

function toldPublicly(comment: string): string {
  const text = comment
    .replaceAll(/ \((?:interface|spec)[^)]*\)/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^(?:Ours|Beyond the interface): /, '');
  return SOURCES.test(text) ? '' : text.charAt(0).toUpperCase() + text.slice(1);
}
