import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeTool } from '../server-tools/testing/fake-tool';
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
      // The spy remembers the arguments of its calls.
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

describe('a stream in turns that has begun', () => {
  it('keeps the memory of its request reserved to its end, for later turns contain it', async () => {
    const app = await InferenceApp.start([new FakeTool('datetime')]);
    const { memory } = app.inFlight.pools;
    let finish = (): void => undefined;
    app.answer = (_request, upstream) => {
      upstream.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatChunk('Hi.'));
      finish = () => void upstream.end(CHAT_END + DONE);
    };
    const input = 'word '.repeat(200);
    const body = { model: 'test/chat', stream: true, input };
    const reservedIn = async (tools: readonly object[]): Promise<number> => {
      const response = await app.post('responses', { ...body, tools });
      expect(response.status).toBe(200);
      const reader = response.body!.getReader();
      await reader.read();
      const { reserved } = memory;
      finish();
      while (!(await reader.read()).done);
      return reserved;
    };
    expect(await reservedIn([])).toBeLessThan(input.length);
    expect(await reservedIn([{ type: 'sluice:datetime' }])).toBeGreaterThanOrEqual(5 * input.length);
    expect(memory.reserved).toBeLessThan(input.length);
    await app.close();
  });
});
