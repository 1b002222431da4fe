import type { ToolDefinition } from '@libs/inference';
import { ParserPool } from '../parsers/parser-pool';
import { outsideWork } from '../parsers/testing/outside-work';
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
const ENDLESS = '(\\w|\\w)*!';

jest.setTimeout(60_000);

describe(ToolSearchTool.name, () => {
  const parsers = new ParserPool();
  afterAll(() => parsers.onApplicationShutdown());

  const bind = (parameters: object, functions: readonly ToolDefinition[] = deferred) => {
    const tool = new ToolSearchTool(parsers).bind({ ...parameters }, 'tools[0].parameters', { deferred: functions });
    return (query: unknown) => tool.run({ query }, outsideWork() as never);
  };
  const search = (parameters: object, query: unknown) => bind(parameters)(query);

  it('finds functions by words, arguments included', async () => {
    const outcome = await search({}, 'some city');
    expect(outcome).toMatchObject({ isError: false, item: { query: 'some city' }, tools: [deferred[0]] });
    expect(outcome.parts).toEqual([{ type: 'text', text: expect.stringContaining('get_weather') as string }]);
  });

  it('finds functions by a pattern, no more than are wanted', async () => {
    expect((await search({ type: 'regex', max_results: 1 }, '^GET_')).tools).toEqual([deferred[0]]);
    expect((await search({ type: 'regex' }, '^get_')).tools).toEqual([deferred[0], deferred[2]]);
  });

  it.each(['(', ENDLESS, 5, 'x'.repeat(1_001)])('takes %j for a query that cannot be', async (query) => {
    expect(await search({ type: 'regex' }, query)).toMatchObject({ isError: true });
  });

  it('seeks no more patterns in a request of which two did not end', async () => {
    const find = bind({ type: 'regex' });
    for (const query of ['(', ENDLESS]) expect(await find(query)).toMatchObject({ isError: true });
    expect(await find('^get_')).toMatchObject({ isError: false });
    expect(await find(ENDLESS)).toMatchObject({ isError: true });
    expect(await find('^get_')).toMatchObject({ isError: true });
  });

  const letter = (index: number): string => String.fromCodePoint(0x4e00 + (index % 500));
  const letters = (from: number, count: number): string =>
    Array.from({ length: count }, (_, index) => letter(from + 31 * index)).join(' ');
  const manyWords = Array.from({ length: 10_000 }, (_, index) => ({
    name: letters(7 * index, 12),
    description: '',
    parameters: null,
  }));

  it.each([
    ['regex', 40, '(a+)+b', [{ name: 'f', description: 'a'.repeat(21), parameters: null }]],
    ['bm25', 5, letters(0, 500), manyWords],
  ] as const)('searches by %s in another process, %i times', async (type, times, query, functions) => {
    await bind({ type })('warm');
    const find = bind({ type }, functions as never);
    const before = process.threadCpuUsage();
    await Promise.all(Array.from({ length: times }, () => find(query)));
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(200);
  });

  it.each(['bm25', 'regex'])('searches fifty times in a request, by %s', async (type) => {
    const find = bind({ type });
    const outcomes = await Promise.all(Array.from({ length: 51 }, () => find('city')));
    expect(outcomes.map(({ isError }) => isError)).toEqual([...Array<boolean>(50).fill(false), true]);
  });

  it.each(['bm25', 'regex'])(
    'searches the beginning of a text of any length, which would end the process as a whole, by %s',
    async (type) => {
      const long = { name: 'get_all', description: `everything ${'aA'.repeat(15_000_000)}`, parameters: null };
      const outcome = await bind({ type }, [long, ...deferred])('everything');
      expect(outcome.tools).toEqual([long]);
    },
  );

  it('searches the names of very many functions', async () => {
    const many = Array.from({ length: 20_000 }, (_, index) => ({
      name: `get_item_${index}`,
      description: 'aA'.repeat(100),
      parameters: null,
    }));
    expect((await bind({}, many)('17234')).tools).toEqual([many[17_234]]);
  });

  it('says so when nothing matches', async () => {
    expect(await search({}, 'submarine')).toMatchObject({ isError: false, tools: [] });
  });

  it.each([0, 1.5, '3'])('refuses %j results', (most) => {
    expect(() => bind({ max_results: most })).toThrow('tools[0].parameters.max_results');
  });
});
