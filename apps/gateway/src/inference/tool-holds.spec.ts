import { FakeTool } from '../server-tools/testing/fake-tool';
import { RESPONSE_ANSWER, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const request = { model: 'test/responses', input: 'Search.', max_output_tokens: 10 };

describe('the hold of a request that names a web search', () => {
  const heldFor = async (tools: readonly FakeTool[], more: object): Promise<number> => {
    const app = await InferenceApp.start(tools);
    app.answer = (_request, answer) => void answer.end(JSON.stringify(RESPONSE_ANSWER));
    try {
      expect((await app.post('responses', { ...request, ...more })).status).toBe(200);
      await until(() => app.books.opened.length === 1);
      return Number(app.books.opened[0]!.holdUsd);
    } finally {
      await app.close();
    }
  };

  it('is for the searches of its provider, where that runs them', async () => {
    const plain = await heldFor([], {});
    const searching = await heldFor([], { tools: [{ type: 'web_search' }], max_tool_calls: 3 });
    // Three searches at 0.01 dollars. The model reads the whole context of 1,000 tokens after each.
    expect(searching - plain).toBeGreaterThanOrEqual(0.033);
    expect(searching - plain).toBeLessThan(0.034);
  });

  it('is for turns without them, where the gateway runs them', async () => {
    const search = new FakeTool('web_search', undefined, {}, ['web_search']);
    const tools = [{ type: 'web_search', engine: 'exa' }];
    expect(await heldFor([search], { tools, max_tool_calls: 3 })).toBeLessThan(0.001);
  });
});
