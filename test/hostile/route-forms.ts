import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';

type Body = Readonly<Record<string, unknown>>;

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly format?: string;
}

interface Operation {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema; example?: Body }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** How a route is asked, by the OpenAPI document. */
export interface RouteForm {
  /** Bodies of the declared fields, from which a fuzzer makes others; undefined for a route without a body. */
  readonly body: fc.Arbitrary<Body> | undefined;
  /** Sent as a form instead of as JSON. */
  readonly isForm: boolean;
  readonly by: 'manager' | 'caller' | 'nobody';
}

const FILE = join(__dirname, '../../apps/gateway/src/openapi/openapi.json');
const { paths, components } = JSON.parse(readFileSync(FILE, 'utf8')) as Document;

const FORM_TYPE = 'application/x-www-form-urlencoded';
const MOST_OPTIONAL = 5;
const LONGEST_TEXT = 40;
const MAX_DEPTH = 4;
/** Values of fields that the document leaves open, or whose value must be recognized later. */
const KNOWN: Body = {
  key: 'provider-key-of-a-tenant',
  input_audio: { data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', format: 'wav' },
  tools: [{ type: 'sluice:datetime' }, { type: 'function', name: 'f', parameters: {}, function: { name: 'f' } }],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  plugins: [{ id: 'response-healing' }],
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
  output_config: { format: { type: 'json_schema', schema: {} } },
};

/** By method and path, as the document writes them: `PATCH /api/v1/keys/{hash}`. */
export const ROUTE_FORMS: Readonly<Record<string, RouteForm>> = Object.fromEntries(
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const verb = method.toUpperCase();
      return [`${verb} ${path}`, formOf(verb, operation)];
    }),
  ),
);

function formOf(method: string, { security, requestBody }: Operation): RouteForm {
  const [type = '', content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const schemes = security.flatMap(Object.keys);
  const user = schemes.includes('apiKey') ? 'caller' : 'manager';
  // A body that a POST does not read must do no harm either.
  const body = content === undefined ? method === 'POST' && fc.constant({}) : bodies(content.schema, content.example);
  return { body: body || undefined, isForm: type === FORM_TYPE, by: schemes.length === 0 ? 'nobody' : user };
}

/** Every body has the fields of the example and a few others, so that many are taken. */
function bodies(schema: Schema, example: Body = {}): fc.Arbitrary<Body> {
  const model = String(example['model'] ?? 'sandbox/speech').replace('sandbox/', 'fuzz/');
  return objects(schema, Object.keys(example), 0).map((made) => ({
    ...made,
    ...example,
    ...Object.fromEntries(Object.entries(KNOWN).filter(([name]) => name in made)),
    ...('model' in made && { model }),
  }));
}

function objects(schema: Schema, always: readonly string[], depth: number): fc.Arbitrary<Body> {
  const { properties = {}, required = [] } = resolved(schema);
  const needed = Object.keys(properties).filter((name) => required.includes(name) || always.includes(name));
  const others = Object.keys(properties).filter((name) => !needed.includes(name));
  return fc.subarray(others, { maxLength: Math.min(MOST_OPTIONAL, others.length) }).chain((chosen) => {
    const members = [...needed, ...chosen].map((name) => [name, valuesOf(properties[name]!, depth + 1)] as const);
    return fc.record(Object.fromEntries(members), { noNullPrototype: true });
  });
}

/** A reference with what is written next to it. */
function resolved({ $ref, ...own }: Schema): Schema {
  if ($ref === undefined) return own;
  const referred = resolved(components.schemas[$ref.split('/').at(-1)!]!);
  return { ...referred, ...own, properties: { ...referred.properties, ...own.properties } };
}

function valuesOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(resolved(schema), depth);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => valuesOf(one, depth)));
  const types = [schema.type ?? []].flat();
  if (types.length === 0 || depth > MAX_DEPTH) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, depth)));
}

function valuesOfType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return textsOf(schema);
    case 'integer':
      return fc.integer({ min: 0, max: 100 });
    case 'number':
      return fc.double({ min: 0, max: 10, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, depth + 1), { minLength: 1, maxLength: 3 });
    case 'object':
      if (schema.properties !== undefined) return objects(schema, [], depth);
      return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true });
    default:
      return fc.constant(null);
  }
}

function textsOf({ pattern, format }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  switch (format) {
    case 'uuid':
      return fc.uuid();
    case 'uri':
      return fc.constant('https://app.example/back');
    case 'date-time':
      return fc.constant('2099-01-01T00:00:00Z');
    default:
      return fc.string({ minLength: 1, maxLength: LONGEST_TEXT });
  }
}
