import type { StreamableApi } from '@libs/inference';
import { ServerToolPlanner, type NativeShare } from './server-tool-plan';
import { FakeTool } from './testing/fake-tool';

interface Asked {
  readonly api?: StreamableApi;
  readonly share?: NativeShare;
  readonly isOptional?: boolean;
}

/** Returns the plan for a request at an installation without a search engine. */
function plan(body: object, { api = 'responses', share = 'none', isOptional = true }: Asked = {}) {
  const search = Object.assign(new FakeTool('web_search', undefined, {}, ['web_search']), {
    isReady: false,
    isOptional,
  });
  const tools = [search, new FakeTool('look')];
  const parts = { serviceName: 'sluice', tools, nativeShare: () => share, isNative: () => false };
  const said = api === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };
  return new ServerToolPlanner(parts).plan(api, { ...said, ...body }, ['some/model']);
}

describe('tools that only providers run', () => {
  it.each([
    ['chat', 'hologram'],
    ['chat', 'namespace'],
    ['messages', 'bash_20250124'],
    ['messages', 'function'],
  ] as const)('treats a tool of another type on %s as on responses: %s', (api, type) => {
    const tools = [{ type }];
    const refused = (why: string) => `tools[0].type is ${type}, a tool that ${why}`;
    expect(plan({ tools }, { api, share: 'some' })).toBeNull();
    expect(() => plan({ tools }, { api })).toThrow(refused('no provider of the model runs'));
    const beside = [...tools, { type: 'sluice:look' }];
    expect(() => plan({ tools: beside }, { api, share: 'all' })).toThrow(refused('cannot be used beside server tools'));
  });

  it.each(['omit', 'refuse'])(
    'goes without the search of messages that no provider runs, by setting: %s',
    (setting) => {
      const asked = { api: 'messages', isOptional: setting === 'omit' } as const;
      const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
      const beside = [...tools, { type: 'sluice:look' }];
      expect(plan({ tools }, { ...asked, share: 'some' })).toBeNull();
      if (setting === 'refuse') {
        const refusal = 'tools[0].type is web_search_20250305, a tool that';
        expect(() => plan({ tools }, asked)).toThrow(`${refusal} no provider of the model runs`);
        expect(() => plan({ tools: beside }, { ...asked, share: 'all' })).toThrow(`${refusal} cannot be used beside`);
        return;
      }
      expect(plan({ tools }, asked)).toBeNull();
      expect(plan({ tools: beside }, asked)!.conversation.unread).toEqual(['tools.web_search_20250305']);
    },
  );

  it('names the tools of a provider that items of earlier answers keep from it', () => {
    const input = [
      { type: 'sluice:look', id: 'l_1', status: 'completed' },
      { role: 'user', content: 'Hi' },
    ];
    const { conversation } = plan({ input, tools: [{ type: 'mcp' }] }, { share: 'all' })!;
    expect(conversation.unread).toContain('tools.mcp');
  });
});
