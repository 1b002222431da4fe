import { ToolSearchTool } from './tool-search.tool';

const deferred = [
  {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: {} } },
  },
  { name: 'send_email', description: 'Sends an email', parameters: null },
  { name: 'get_user', description: `Reads a user ${'u'.repeat(40)}`, parameters: null },
];
/** Long enough for a process that waits its turn. */
const PATIENT_MS = 2_000;
const search = (parameters: object, query: unknown) =>
  new ToolSearchTool(PATIENT_MS)
    .bind({ ...parameters }, 'tools[0].parameters', { deferred })
    .run({ query }, {} as never);

describe(ToolSearchTool.name, () => {
  it('finds functions by words, arguments included', async () => {
    const outcome = await search({}, 'some city');
    expect(outcome).toMatchObject({ isError: false, item: { query: 'some city' }, tools: [deferred[0]] });
    expect(outcome.parts).toEqual([{ type: 'text', text: expect.stringContaining('get_weather') as string }]);
  });

  it('finds functions by a pattern, no more than are wanted', async () => {
    expect((await search({ type: 'regex', max_results: 1 }, '^GET_')).tools).toEqual([deferred[0]]);
    expect((await search({ type: 'regex' }, '^get_')).tools).toEqual([deferred[0], deferred[2]]);
  });

  it.each(['(', '(\\w|\\w)*!', 5, 'x'.repeat(1_001)])('takes %j for a query that cannot be', async (query) => {
    expect(await search({ type: 'regex' }, query)).toMatchObject({ isError: true });
  });

  it('seeks no more patterns in a request of which two did not end', async () => {
    const tool = new ToolSearchTool(PATIENT_MS).bind({ type: 'regex' }, 'tools[0].parameters', { deferred });
    const find = (query: string) => tool.run({ query }, {} as never);
    for (const query of ['(', '(\\w|\\w)*!']) expect(await find(query)).toMatchObject({ isError: true });
    expect(await find('^get_')).toMatchObject({ isError: false });
    expect(await find('(\\w|\\w)*!')).toMatchObject({ isError: true });
    expect(await find('^get_')).toMatchObject({ isError: true });
  });

  it.each(['bm25', 'regex'])(
    'searches the beginning of a text of any length, which would end the process as a whole, by %s',
    async (type) => {
      const long = { name: 'get_all', description: `everything ${'aA'.repeat(15_000_000)}`, parameters: null };
      const tool = new ToolSearchTool(PATIENT_MS).bind({ type }, 'tools[0].parameters', {
        deferred: [long, ...deferred],
      });
      const outcome = await tool.run({ query: 'everything' }, {} as never);
      expect(outcome.tools).toEqual([long]);
    },
  );

  it('searches the names of very many functions', async () => {
    const many = Array.from({ length: 20_000 }, (_, index) => ({
      name: `get_item_${index}`,
      description: 'aA'.repeat(100),
      parameters: null,
    }));
    const tool = new ToolSearchTool().bind({}, 'tools[0].parameters', { deferred: many });
    expect((await tool.run({ query: '17234' }, {} as never)).tools).toEqual([many[17_234]]);
  });

  it('says so when nothing matches', async () => {
    expect(await search({}, 'submarine')).toMatchObject({ isError: false, tools: [] });
  });

  it.each([0, 1.5, '3'])('refuses %j results', (most) => {
    expect(() => new ToolSearchTool().bind({ max_results: most }, 'tools[2].parameters')).toThrow(
      'tools[2].parameters.max_results',
    );
  });
});
