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

  it('refuses one with a longer reference than any part needs', () => {
    const problem = ' must not have a $ref of more than 1024 characters';
    const refersTo = ($ref: string): object => ({ properties: { x: { $ref } } });
    expect(findParametersProblem(refersTo(`#/${'/'.repeat(1_023)}`))).toBe(problem);
    expect(findParametersProblem(refersTo(`https://acme.example/${'a'.repeat(1_024)}`))).toBe(problem);
    expect(findParametersProblem(refersTo(`#/${'/'.repeat(1_022)}`))).toBeNull();
  });

  it('counts the characters of references', () => {
    const anyOf = Array.from({ length: 600 }, () => ({ $ref: `#/${'a'.repeat(1_000)}` }));
    expect(findParametersProblem({ anyOf })).toContain('must not be larger');
  });

  it('follows references into the schema itself only', () => {
    const $defs = { a: { $ref: '#Ā$defs/a' }, b: { $ref: '#b' } };
    expect(findParametersProblem({ $defs })).toBeNull();
  });

  it('looks into a part once, by however many references it is reached', () => {
    let looks = 0;
    const ownKeys = (part: object): (string | symbol)[] => {
      looks += 1;
      return Reflect.ownKeys(part);
    };
    const parts = Array.from({ length: 50 }, () => new Proxy({ type: 'string' }, { ownKeys }));
    const $defs = { b: { properties: { ...parts } }, 'a/b': { $ref: '#/$defs/b' } };
    const ways = [
      '#/$defs/b',
      '#/$defs/b/properties',
      '#/$defs/b/properties/0',
      '#/$defs/a~1b',
      '#Ā$defs/b',
      '#é$defs/b',
    ];
    expect(findParametersProblem({ $defs, anyOf: ways.map(($ref) => ({ $ref })) })).toBeNull();
    expect(looks).toBe(parts.length);
  });

  it('refuses one that is too large', () => {
    expect(findParametersProblem({ description: 'a'.repeat(600_000) })).toContain('must not be larger');
  });
});
