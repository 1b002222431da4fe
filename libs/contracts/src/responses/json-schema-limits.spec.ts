import { findParametersProblem, findSchemaProblem } from './json-schema-limits';

/** Returns definitions in a chain: each refers to the next. */
function chain(length: number, last: object): object {
  const $defs: Record<string, object> = { [`d${length}`]: last };
  for (let index = 0; index < length; index += 1) $defs[`d${index}`] = { items: { $ref: `#/$defs/d${index + 1}` } };
  return { type: 'object', $defs, properties: { a: { $ref: '#/$defs/d0' } } };
}

describe('a schema whose references follow one another', () => {
  it('fits, however many they are', () => {
    const schema = chain(9_900, { type: 'string' });
    expect(findSchemaProblem(schema)).toBeNull();
    expect(findParametersProblem(schema)).toBeNull();
  });

  it('has to end where it describes parameters', () => {
    const schema = chain(9_900, { $ref: '#/$defs/d0' });
    expect(findSchemaProblem(schema)).toBeNull();
    expect(findParametersProblem(schema)).toBe(' must not refer to itself');
  });
});

describe(findParametersProblem.name, () => {
  const string = { type: 'string' };

  it.each([
    { $defs: { a: string }, properties: { x: { $ref: '#/$defs/a' }, y: { $ref: '#/$defs/a' } } },
    { $defs: { a: { $ref: '#/$defs/b' }, b: string }, anyOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/a' }] },
    { properties: { x: { $ref: 'https://acme.example/schema' } } },
  ])('takes one that refers to a part twice, but not to itself: %j', (schema) => {
    expect(findParametersProblem(schema)).toBeNull();
  });

  it.each([
    { properties: { x: { $ref: '#' } } },
    { $defs: { a: { items: { $ref: '#/$defs/a' } } }, properties: { x: { $ref: '#/$defs/a' } } },
    { $defs: { a: { $ref: '#/$defs/b' }, b: { not: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/b' },
  ])('refuses one that refers to itself: %j', (schema) => {
    expect(findParametersProblem(schema)).toBe(' must not refer to itself');
  });

  it('refuses one that is too large when a part is unfolded', () => {
    expect(findParametersProblem({ description: 'a'.repeat(600_000) })).toContain('must not be larger');
  });
});
