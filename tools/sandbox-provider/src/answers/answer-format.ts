import { isObject, type JsonObject } from '../http/json-members';
import { SandboxError } from '../http/sandbox-error';
import type { AnswerFormat } from './answer';

/**
 * Reads a format field: null or `{type: "text" | "json_object" | "json_schema"}`. `schemaOf` returns the schema from
 * where the dialect has it.
 */
export function readFormat(value: unknown, name: string, schemaOf: (format: JsonObject) => unknown): AnswerFormat {
  if (value === undefined || value === null) return { kind: 'text' };
  const type = isObject(value) ? value.type : undefined;
  if (!isObject(value) || typeof type !== 'string') {
    throw new SandboxError(400, `'${name}' must be an object with a 'type'`, name);
  }
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json_object' };
  if (type !== 'json_schema') throw new SandboxError(400, `'${name}.type' is not supported`, `${name}.type`);
  const schema = schemaOf(value);
  if (!isObject(schema)) throw new SandboxError(400, `Missing required parameter: '${name}' schema`, name);
  return { kind: 'json_schema', schema };
}
