import { FakeTool } from '../server-tools/testing/fake-tool';
import { CHAT_ANSWER, RESPONSE_ANSWER, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const request = { model: 'test/responses', input: 'Search.', max_output_tokens: 10 };

async function heldAt(path: string, body: object, answer: object, tools: readonly FakeTool[] = []): Promise<number> {
  const app = await InferenceApp.start(tools);
  app.answer = (_request, response) => void response.end(JSON.stringify(answer));
  try {
    expect((await app.post(path, body)).status).toBe(200);
    await until(() => app.books.opened.length === 1);
    return Number(app.books.opened[0]!.holdUsd);
  } finally {
    await app.close();
  }
}

describe('the hold of a chat completion with a prediction', () => {
  it('is for its tokens among those of the answer too', async () => {
    const content = 'The committee reviewed the quarterly indicators. '.repeat(50);
    const body = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
    const plain = await heldAt('chat/completions', body, CHAT_ANSWER);
    const predicted = { ...body, prediction: { type: 'content', content } };
    // 400 tokens or more, at 1 and at 2 dollars per million.
    expect((await heldAt('chat/completions', predicted, CHAT_ANSWER)) - plain).toBeGreaterThan(0.0012);
  });
});

describe('the hold of a request that names a web search', () => {
  const heldFor = (tools: readonly FakeTool[], more: object): Promise<number> =>
    heldAt('responses', { ...request, ...more }, RESPONSE_ANSWER, tools);

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
