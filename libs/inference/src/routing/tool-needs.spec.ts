import { anEndpoint } from '../testing';
import { needOfTool, sellsTool } from './tool-needs';

const priced = (tool: string) => anEndpoint({ pricing: { prompt: 1n, completion: 1n, tools: { [tool]: 1n } } });

describe(sellsTool.name, () => {
  it.each(['chat', 'responses', 'messages'] as const)('sells on %s a tool with a price', (api) => {
    expect(sellsTool(priced('code_interpreter'), api, 'code_interpreter')).toBe(true);
    expect(sellsTool(priced('code_interpreter'), api, 'mcp')).toBe(false);
    const searching = anEndpoint({ pricing: { prompt: 1n, completion: 1n, webSearch: 0n } });
    expect(sellsTool(searching, api, 'web_search')).toBe(true);
  });

  it('sells no tool on chat completions whose uses no answer counts', () => {
    expect(sellsTool(priced('builtin_function'), 'chat', 'builtin_function')).toBe(false);
    expect(sellsTool(priced('builtin_function'), 'messages', 'builtin_function')).toBe(true);
  });
});

describe(needOfTool.name, () => {
  const own = { id: 'key' } as never;

  it('is met by a key of the caller alone where a setting costs more than the price says', () => {
    const dearerMember = 'tools[2].container.memory_limit';
    const need = needOfTool('responses', { tool: 'code_interpreter', member: 'tools[2]', dearerMember });
    expect(need).toMatchObject({ member: dearerMember, message: expect.stringContaining(dearerMember) as string });
    expect(need.isMetBy(priced('code_interpreter'), null)).toBe(false);
    expect(need.isMetBy(priced('code_interpreter'), own)).toBe(true);
  });

  it('is met by any key of the caller, and else by what the endpoint sells', () => {
    const need = needOfTool('chat', { tool: 'x_search', member: 'tools[2]' });
    expect(need.member).toBe('tools[2]');
    expect(need.isMetBy(anEndpoint(), own)).toBe(true);
    expect(need.isMetBy(anEndpoint(), null)).toBe(false);
    expect(need.isMetBy(priced('x_search'), null)).toBe(true);
  });
});
