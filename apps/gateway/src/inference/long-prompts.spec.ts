import { CHAT_ANSWER, CHAT_END, chatChunk, DONE } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const MESSAGES = [{ role: 'user', content: 'Hello!' }];
/** Of 10 tokens in and 5 out at the rates for prompts of 10 tokens and more, and at the usual ones. */
const [LONG_USD, USUAL_USD] = ['0.000035', '0.00002'];

describe('the price of a call whose prompt reaches a threshold of the catalogue', () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
    app.answer = (_request, response) => {
      const isStream = String(app.upstreamCalls.at(-1)).includes('"stream":true');
      const headers = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
      response.writeHead(200, headers).end(isStream ? chatChunk('Hi.') + CHAT_END + DONE : JSON.stringify(CHAT_ANSWER));
    };
  });

  afterEach(() => app.close());

  it.each([
    ['chat/completions', { messages: MESSAGES }],
    ['responses', { input: 'Hello!' }],
    ['messages', { messages: MESSAGES, max_tokens: 100 }],
  ])('is the same to the last digit on %s, streamed and whole', async (path, request) => {
    for (const stream of [false, true]) {
      for (const model of ['test/long', 'test/longer']) {
        const response = await app.post(path, { ...request, model, stream });
        expect(response.status).toBe(200);
        await response.text();
      }
    }
    await app.recorder.flush();
    const charged = app.books.settled.map(({ costUsd }) => costUsd);
    expect(charged).toEqual([LONG_USD, USUAL_USD, LONG_USD, USUAL_USD]);
  });
});
