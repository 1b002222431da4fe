import { exampleOf } from './schema-example';

describe(exampleOf.name, () => {
  it('fills the required members and puts the text into the first free string', () => {
    const schema = {
      type: 'object',
      properties: {
        answer: { type: 'string' },
        other: { type: 'string' },
        count: { type: 'integer', minimum: 3, maximum: 9 },
        optional: { type: 'string' },
        flag: { type: 'boolean' },
        nothing: { type: 'null' },
      },
      required: ['answer', 'other', 'count', 'flag', 'nothing'],
    };
    expect(exampleOf(schema, 'the text')).toEqual({
      answer: 'the text',
      other: 'sandbox',
      count: 3,
      flag: true,
      nothing: null,
    });
  });

  it.each([
    [{ const: 7 }, 7],
    [{ enum: ['red', 'green'] }, 'red'],
    [{ type: 'string', format: 'date' }, '2026-01-01'],
    [{ type: 'string', minLength: 10, maxLength: 12 }, 'sandbox...'],
    [{ type: 'string', maxLength: 3 }, 'san'],
    [{ type: 'string', pattern: '^[A-Z]{3}$' }, 'ABC'],
    [{ type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }, '2026-01-01'],
    [{ type: ['null', 'integer'] }, 1],
    [{ type: 'integer', exclusiveMinimum: 4 }, 5],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
    [{ type: 'integer', maximum: -5 }, -5],
    [{ type: 'integer', minimum: 10, multipleOf: 7 }, 14],
    [{ type: 'number', minimum: 0.25, maximum: 0.4, multipleOf: 0.1 }, 0.4],
    [{ type: 'number', minimum: -3, exclusiveMaximum: -2 }, -3],
    [{ type: 'array', items: { type: 'integer' }, minItems: 3, uniqueItems: true }, [1, 2, 3]],
    [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['a', 'b']],
    [{ type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }] }, [1, false]],
    [{ type: 'array', items: { type: 'integer' }, maxItems: 0 }, []],
    [{ anyOf: [{ type: 'integer', minimum: 2 }, { type: 'string' }] }, 2],
    [{ type: 'object', properties: { a: {} }, required: ['a', '__proto__'] }, expect.objectContaining({ a: 'text' })],
  ])('fits %j', (schema, expected) => {
    expect(exampleOf(schema, 'text')).toEqual(expected);
  });

  it('merges what allOf asks for and follows local references', () => {
    const schema = {
      $defs: { size: { type: 'integer', minimum: 5 }, 'a/b': { const: 'slash' } },
      allOf: [
        { type: 'object', properties: { size: { $ref: '#/$defs/size' } }, required: ['size'] },
        { properties: { name: { $ref: '#/$defs/a~1b' } }, required: ['name'] },
      ],
    };
    expect(exampleOf(schema, '')).toEqual({ size: 5, name: 'slash' });
  });

  it('comes to an end on a schema that holds itself', () => {
    const tree = {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] }, list: { type: 'array', items: { $ref: '#' } } },
      required: ['next', 'list'],
    };
    expect(exampleOf(tree, '')).toMatchObject({ next: null, list: [{ next: null }] });
    const endless = { type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] };
    expect(JSON.stringify(exampleOf(endless, '')).length).toBeLessThan(500);
  });

  it.each([
    { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] },
    { type: 'array', items: { $ref: '#' }, minItems: 1_000 },
  ])('stays small for a schema that would grow without end: %j', (schema) => {
    expect(JSON.stringify(exampleOf(schema, '')).length).toBeLessThan(1_000_000);
  });
});
