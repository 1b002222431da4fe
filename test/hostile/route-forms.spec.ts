import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { ROUTE_FORMS } from './route-forms';

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

const file = join(__dirname, '../../apps/gateway/src/openapi/openapi.json');
const { components } = JSON.parse(readFileSync(file, 'utf8')) as {
  components: { schemas: Readonly<Record<string, Schema>> };
};

describe('forms of the route fuzz', () => {
  it.each([
    ['POST /api/v1/keys', 'CreateKeyDto'],
    ['PATCH /api/v1/workspaces/{id}', 'UpdateWorkspaceDto'],
    ['POST /api/v1/chat/completions', 'ChatCompletionDto'],
    ['POST /api/v1/responses', 'ResponsesDto'],
    ['POST /api/v1/messages', 'MessagesDto'],
  ])('fill each field that the document declares: %s', (route, schema) => {
    const bodies = fc.sample(ROUTE_FORMS[route]!.body!, { seed: 1, numRuns: 400 });
    const filled = new Set(bodies.flatMap(Object.keys));
    const declared = Object.keys(components.schemas[schema]!.properties!);
    expect(declared.length).toBeGreaterThan(5);
    expect(declared.filter((name) => !filled.has(name))).toEqual([]);
  });

  it('ask each route as those who may', () => {
    const by = (route: string): string => ROUTE_FORMS[route]!.by;
    expect(by('POST /api/v1/keys')).toBe('manager');
    expect(by('POST /api/v1/chat/completions')).toBe('caller');
    expect(by('POST /auth/session')).toBe('nobody');
    expect(ROUTE_FORMS['POST /auth/session']!.isForm).toBe(true);
  });
});
