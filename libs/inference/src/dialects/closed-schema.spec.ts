import { LossLog } from '../model/loss-report';
import { inputSchema, outputSchema } from './closed-schema';

const write = (schema: Record<string, unknown>) => {
  const log = new LossLog();
  return { schema: outputSchema(schema, log), ...log.report() };
};

describe('a schema for an upstream that makes a grammar of it', () => {
  it('is closed wherever it is of objects, which loses nothing that it names', () => {
    const properties = { a: { type: 'object', properties: { b: { type: 'string' } } }, c: { $ref: '#/$defs/d' } };
    const list = { type: 'array', items: { type: ['object', 'null'], properties: {} }, minItems: 1 };
    const schema = { type: 'object', properties: { ...properties, list }, $defs: { d: { properties: {} } } };
    const closed = { additionalProperties: false };
    expect(write(schema)).toEqual({
      schema: {
        ...schema,
        ...closed,
        properties: {
          a: { ...properties.a, ...closed },
          c: properties.c,
          list: { ...list, items: { ...list.items, ...closed } },
        },
        $defs: { d: { properties: {}, ...closed } },
      },
      dropped: [],
      approximated: [],
    });
  });

  it('says in words what no grammar holds an answer to', () => {
    const { schema, approximated } = write({
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'In years.', minimum: 0, maximum: 150 },
        tags: { type: 'array', items: { type: 'string', maxLength: 9, format: 'color' }, minItems: 2 },
        at: { type: 'string', format: 'date-time' },
      },
      additionalProperties: false,
    });
    expect(schema['properties']).toEqual({
      age: { type: 'integer', description: 'In years.\n\n{minimum: 0, maximum: 150}' },
      tags: {
        type: 'array',
        items: { type: 'string', description: '{maxLength: 9, format: "color"}' },
        description: '{minItems: 2}',
      },
      at: { type: 'string', format: 'date-time' },
    });
    expect(approximated).toEqual(['response_format.schema']);
  });

  it('does not take the name of a member for a keyword', () => {
    const properties = { minimum: { type: 'number' }, not: { type: 'string' }, properties: { type: 'string' } };
    const schema = { type: 'object', properties, additionalProperties: false };
    expect(write(schema)).toEqual({ schema, dropped: [], approximated: [] });
  });

  it('has one of several for any of them', () => {
    const either = [{ type: 'string' }, { type: 'object', properties: {}, additionalProperties: false }];
    expect(write({ oneOf: either }).schema).toEqual({ anyOf: either });
  });

  it.each([[{ type: 'object' }], [{ type: 'object', properties: {}, additionalProperties: { type: 'number' } }]])(
    'tells that %j can no longer hold what it does not name',
    (open) => {
      const { schema, approximated } = write(open);
      expect(schema).toMatchObject({ additionalProperties: false });
      expect(schema['description']).toContain('additionalProperties: ');
      expect(approximated).toEqual(['response_format.schema']);
    },
  );
});

describe('the schema of what a tool takes', () => {
  const bounded = { properties: { n: { type: 'number', maximum: 9 } } };

  it('stays as it is where calls need not keep to it', () => {
    const log = new LossLog();
    expect(inputSchema({ name: 'a', parameters: bounded }, false, log)).toEqual({ type: 'object', ...bounded });
    expect(log.report().approximated).toEqual([]);
  });

  it('is closed where they must', () => {
    const log = new LossLog();
    expect(inputSchema({ name: 'a', parameters: bounded }, true, log)).toEqual({
      type: 'object',
      properties: { n: { type: 'number', description: '{maximum: 9}' } },
      additionalProperties: false,
    });
    expect(log.report().approximated).toEqual(['tools.parameters']);
    expect(inputSchema({ name: 'a', parameters: null }, true, new LossLog())).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
  });
});
