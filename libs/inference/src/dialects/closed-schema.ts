import { isObject, stringOf, type JsonObject } from '@libs/json';
import type { ToolDefinition } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const NESTED: ReadonlySet<string> = new Set(['items', 'anyOf', 'allOf', 'properties', '$defs', 'definitions']);
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);

/** Keywords that bound a value or make schemas conditional: upstreams refuse a request with one of them. */
const REFUSED: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'minProperties',
  'maxProperties',
  'propertyNames',
  'patternProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependentRequired',
  'dependentSchemas',
  'not',
  'if',
  'then',
  'else',
]);

const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** Returns the schema of an answer in the form of `closedSchema`. */
export function outputSchema(schema: JsonObject, log: LossLog): JsonObject {
  return closedSchema(schema, 'response_format.schema', log);
}

/** Returns the schema of a tool's arguments: as the caller wrote it, unless the tool is strict. */
export function inputSchema({ parameters }: ToolDefinition, isStrict: boolean, log: LossLog): JsonObject {
  if (!isStrict) return { type: 'object', ...parameters };
  return closedSchema({ type: 'object', ...(parameters ?? { properties: {} }) }, 'tools.parameters', log);
}

/**
 * Returns a JSON Schema for upstreams that make a grammar of it (structured outputs of Anthropic and Bedrock):
 * every object is closed, and bounds move to the description, which the model reads and no grammar enforces.
 * `member` is the schema's name in the log if that loses something.
 */
function closedSchema(schema: JsonObject, member: string, log: LossLog): JsonObject {
  const written: Record<string, unknown> = {};
  const unsaid: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (isUnsaid(name, value)) unsaid.push(`${name}: ${JSON.stringify(value)}`);
    else if (name === 'oneOf') written['anyOf'] = nested(name, value, member, log);
    else if (name !== 'additionalProperties') written[name] = nested(name, value, member, log);
  }
  if (isOfObjects(schema)) {
    written['additionalProperties'] = false;
    if (isOpen(schema)) unsaid.push(`additionalProperties: ${JSON.stringify(schema['additionalProperties'] ?? true)}`);
  }
  if (unsaid.length === 0) return written;
  log.approximate(member);
  const words = [stringOf(schema['description']), `{${unsaid.join(', ')}}`];
  return { ...written, description: words.filter(Boolean).join('\n\n') };
}

function isUnsaid(name: string, value: unknown): boolean {
  if (name === 'format') return !FORMATS.has(value);
  if (name === 'minItems') return value !== 0 && value !== 1;
  return REFUSED.has(name);
}

function nested(name: string, value: unknown, member: string, log: LossLog): unknown {
  const close = (each: unknown): unknown => (isObject(each) ? closedSchema(each, member, log) : each);
  if (name !== 'oneOf' && !NESTED.has(name)) return value;
  if (Array.isArray(value)) return value.map(close);
  if (!NAMED.has(name) || !isObject(value)) return close(value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, close(each)]));
}

function isOfObjects({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties);
}

/** Returns whether the schema of an object allows further properties. An object that lists no properties does. */
function isOpen({ additionalProperties: others, properties }: JsonObject): boolean {
  return others === undefined ? !isObject(properties) : others !== false;
}
