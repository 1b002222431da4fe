import { CHAT_ANSWER, CHAT_END, chatChunk, DONE } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const MARK = 'a body that is parsed once';
const TURNS = [{ role: 'user', content: MARK }];
const TOOL = { name: 'f', description: MARK, parameters: { type: 'object', properties: {} } };

describe('the body of a request', () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  it.each([
    ['chat/completions', { model: 'test/chat', messages: TURNS, tools: [{ type: 'function', function: TOOL }] }],
    ['responses', { model: 'test/chat', input: MARK, tools: [{ type: 'function', ...TOOL }] }],
    ['messages', { model: 'test/chat', messages: TURNS, max_tokens: 5 }],
  ])('is parsed once on %s, whole and streamed', async (path, request) => {
    for (const stream of [false, true]) {
      app.answer = (_request, response) => {
        if (!stream) return void response.end(JSON.stringify(CHAT_ANSWER));
        response.setHeader('content-type', 'text/event-stream');
        response.end([chatChunk('Hi.'), CHAT_END, DONE].join(''));
      };
      const parse = jest.spyOn(JSON, 'parse');
      const response = await app.post(path, { ...request, stream });
      await response.text();
      const parsed = parse.mock.calls.filter(([text]) => String(text).includes(MARK));
      parse.mockRestore();
      expect(response.status).toBe(200);
      expect(parsed).toHaveLength(1);
    }
  });
});
