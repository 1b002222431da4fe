import { forEachConversationApi } from '@libs/inference';
import type { UsesByApi } from './batch-line';
import { ToolProfiles } from './tool-profiles';

const usesOf = (body: Record<string, unknown>): UsesByApi =>
  forEachConversationApi(({ toolUsesOf }) => toolUsesOf(body));
const search = (max_uses: number): UsesByApi =>
  usesOf({ tools: [{ type: 'web_search_20250305', max_uses }], max_tool_calls: max_uses });

describe(ToolProfiles.name, () => {
  it('has one number for the lines that may do the same, and 0 for those without tools', () => {
    const profiles = new ToolProfiles();
    expect([null, search(1), search(2), search(1), null].map((uses) => profiles.numberOf(uses))).toEqual([
      0, 1, 2, 1, 0,
    ]);
    expect(profiles.usesOf(0)).toBeNull();
    expect(profiles.usesOf(2)).toEqual(search(2));
  });

  it('takes further combinations for one that may do as much as any of them', () => {
    const profiles = new ToolProfiles();
    const numbers = Array.from({ length: 100 }, (_, at) => profiles.numberOf(search(at + 1)));
    expect(new Set(numbers).size).toBe(64);
    expect(profiles.usesOf(numbers.at(-1)!)).toMatchObject({
      responses: [{ tools: null, uses: 100, turns: 100, tokensPerUse: 8_000 }],
      messages: [{ tools: null, uses: 100, turns: 101, tokensPerUse: 8_000 }],
    });
  });

  it('does not keep long lists of tools', () => {
    const profiles = new ToolProfiles();
    const many = usesOf({ tools: Array.from({ length: 5_000 }, (_, at) => ({ type: `tool_${at}` })) });
    const [{ uses } = { uses: 0 }] = profiles.usesOf(profiles.numberOf(many))!.messages;
    expect(uses).toBe(50_000);
    expect(JSON.stringify(profiles.usesOf(profiles.numberOf(many))).length).toBeLessThan(1_000);
  });
});
