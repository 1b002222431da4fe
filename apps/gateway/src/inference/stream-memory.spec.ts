import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { InferenceService } from './inference.service';
import { CHAT_END, chatChunk, DONE } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

/** Timers of the HTTP client let go of what they held when they are next looked at, which is a matter of seconds. */
const LONGEST_MS = 10_000;
const messages = [{ role: 'user', content: 'Hello!' }];
const REQUESTS = {
  'chat/completions': { messages },
  responses: { input: 'Hello!' },
  messages: { messages, max_tokens: 8 },
} as const;

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

describe('a stream that has begun', () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  // Of an upstream that speaks the caller's API, and of one that has to be translated for.
  it.each(['chat/completions', 'responses', 'messages'] as const)(
    'has let go of what was asked, as %s, while its answer comes',
    async (path) => {
      const prompts: WeakRef<object>[] = [];
      const wantsStream = jest.spyOn(InferenceService, 'wantsStream').mockImplementation((parsed) => {
        prompts.push(new WeakRef(parsed as object));
        return true;
      });
      let finish = (): void => undefined;
      app.answer = (_request, upstream) => {
        upstream.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatChunk('Hi.'));
        finish = () => void upstream.end(CHAT_END + DONE);
      };
      const response = await app.post(path, { model: 'test/chat', stream: true, ...REQUESTS[path] });
      expect(response.status).toBe(200);
      // It remembers with what it was called.
      wantsStream.mockRestore();

      const collectGarbage = garbageCollector();
      const deadline = performance.now() + LONGEST_MS;
      while (prompts[0]?.deref() !== undefined && performance.now() < deadline) {
        await delay(5);
        collectGarbage();
      }
      expect(prompts.map((prompt) => prompt.deref())).toEqual([undefined]);

      finish();
      expect(await response.text()).toContain('Hi.');
      await app.recorder.flush();
      expect(app.books.settled).toMatchObject([{ outcome: 'completed', promptTokens: 10 }]);
    },
    2 * LONGEST_MS,
  );
});
