import { AppError } from '@libs/errors';
import type { ToolDefinition } from '@libs/inference';
import { ParserPool } from '../parsers/parser-pool';
import { parse as searchByPattern } from '../parsers/pattern-match';
import { outsideWork } from '../parsers/testing/outside-work';
import { parse as searchByWords } from '../parsers/word-match';
import type { ToolOutcome } from './server-tool';
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

  const spentBy = async (work: () => unknown): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };

  it.each([
    ['regex', searchByPattern, 5, '(a+)+b', [{ name: 'f', description: 'a'.repeat(21), parameters: null }]],
    ['bm25', searchByWords, 5, letters(0, 500), manyWords],
  ] as const)('searches by %s in another process', async (type, searchHere, times, query, functions) => {
    await bind({ type })('warm');
    const find = bind({ type }, functions as never);
    const texts = Buffer.from(JSON.stringify(functions.map(({ name, description }) => `${name} ${description}`)));
    const here = await spentBy(() => searchHere(texts, { query, most: 5 }));
    const found = await spentBy(() => Promise.all(Array.from({ length: times }, () => find(query))));
    // In this process, each would cost the search and what it costs to hand the texts over: 40 to 60 % more.
    expect(found).toBeLessThan(times * here);
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

  const textOf = ({ parts }: ToolOutcome): string =>
    parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

  it('shows a function once in a request, and then its name', async () => {
    const find = bind({});
    const [first, second] = [await find('city'), await find('city')];
    expect(textOf(first)).toContain('The weather of a city');
    expect(second.tools).toEqual([]);
    expect(textOf(second)).toContain('get_weather');
    expect(textOf(second)).not.toContain('The weather of a city');
  });

  it('shortens a function that is too long to be shown, which can be called all the same', async () => {
    const long = { name: 'get_all', description: `everything ${'x'.repeat(8_000_000)}`, parameters: null };
    const wide = { name: 'get_wide', description: 'everything', parameters: { enum: ['x'.repeat(70_000)] } };
    const outcome = await bind({}, [long, wide])('everything');
    expect(new Set(outcome.tools)).toEqual(new Set([long, wide]));
    expect(textOf(outcome).length).toBeLessThan(4_096);
  });

  it('shows what fits, says how many functions are left, and shows them to the next search', async () => {
    const many = Array.from({ length: 10 }, (_, index) => ({
      name: `get_${index}`,
      description: `everything ${'x'.repeat(14_000)}`,
      parameters: null,
    }));
    const find = bind({ max_results: 10 }, many);
    const first = await find('everything');
    expect(Buffer.byteLength(textOf(first))).toBeLessThan(66_000);
    expect(first.tools).toHaveLength(4);
    expect(textOf(first)).toContain('6 more functions match');
    const second = await find('everything');
    expect(second.tools).toHaveLength(4);
    expect(new Set([...first.tools!, ...second.tools!]).size).toBe(8);
  });

  it('holds memory for what it says, and finds nothing where there is no room', async () => {
    const tool = new ToolSearchTool(parsers).bind({}, 'p', { deferred });
    const work = outsideWork();
    const add = jest.spyOn(work.memory, 'add').mockRejectedValueOnce(new AppError('provider_overloaded', 'Full'));
    const refused = await tool.run({ query: 'city' }, work as never);
    expect(refused).toMatchObject({ isError: true });
    expect(refused.tools).toBeUndefined();
    const found = await tool.run({ query: 'city' }, work as never);
    expect(found.tools).toEqual([deferred[0]]);
    const text = textOf(found);
    expect(add).toHaveBeenLastCalledWith(text.length + 3 * JSON.stringify(text).length);
  });

  it('says so when nothing matches', async () => {
    expect(await search({}, 'submarine')).toMatchObject({ isError: false, tools: [] });
  });

  it.each([0, 1.5, '3'])('refuses %j results', (most) => {
    expect(() => bind({ max_results: most })).toThrow('tools[0].parameters.max_results');
  });
});
