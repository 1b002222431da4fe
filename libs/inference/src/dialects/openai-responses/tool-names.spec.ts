import { ToolNames } from './tool-names';

const spawn = { type: 'function', name: 'spawn' };
const agents = { type: 'namespace', name: 'agents', tools: [spawn, { type: 'custom', name: 'say' }] };
const flatOf = (request: object) => new ToolNames(request as never).tools.map(({ name }) => name);

describe(ToolNames.name, () => {
  it('has the tools of namespaces and of the input beside those of the request', () => {
    const input = [{ type: 'additional_tools', tools: [{ type: 'function', name: 'later' }, agents] }];
    expect(flatOf({ tools: [spawn], input })).toEqual(['spawn', 'later', 'agents__spawn', 'agents__say']);
    expect(flatOf({ tools: [{ ...agents, name: 'mcp__git__' }] })).toEqual(['mcp__git__spawn', 'mcp__git__say']);
  });

  it('has a tool once that the request and items of its input bring alike', () => {
    const again = { type: 'additional_tools', tools: [{ ...spawn }, { ...agents }] };
    expect(flatOf({ tools: [spawn, agents], input: [again, again] })).toEqual([
      'spawn',
      'agents__spawn',
      'agents__say',
    ]);
    const other = { ...spawn, description: 'Another tool of this name, which the provider has to refuse.' };
    expect(flatOf({ tools: [spawn, other, other] })).toEqual(['spawn', 'spawn', 'spawn']);
  });

  it('knows by the flat name where a tool is and how it is called', () => {
    const names = new ToolNames({ tools: [spawn, agents] });
    expect(names.placeOf('spawn')).toEqual({ name: 'spawn', isCustom: false });
    expect(names.placeOf('agents__say')).toEqual({ name: 'say', namespace: 'agents', isCustom: true });
    expect(names.placeOf('say')).toBeUndefined();
    expect(names.flatName('say', 'agents')).toBe('agents__say');
    expect(names.flatName('gone', 'earlier')).toBe('earlier__gone');
    expect(names.flatName('gone', undefined)).toBe('gone');
  });

  it('gives no two tools one name, and none a name that is too long', () => {
    const twin = { type: 'function', name: 'agents__spawn' };
    const names = new ToolNames({ tools: [agents, twin] });
    const inside = names.flatName('spawn', 'agents');
    expect(inside).toMatch(/^spawn_[0-9a-f]{8}$/);
    expect(names.placeOf(inside)).toMatchObject({ namespace: 'agents' });
    expect(names.placeOf('agents__spawn')).toEqual({ name: 'agents__spawn', isCustom: false });
    const long = { ...agents, name: 'n'.repeat(64), tools: [{ type: 'function', name: 'f'.repeat(64) }] };
    expect(flatOf({ tools: [long] })[0]).toHaveLength(64);
    const a = { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b__c' }] };
    const ab = { type: 'namespace', name: 'a__b', tools: [{ type: 'function', name: 'c' }] };
    expect(new Set(flatOf({ tools: [a, ab] })).size).toBe(2);
  });
});
