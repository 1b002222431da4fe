import { setImmediate as turn } from 'node:timers/promises';
import type { InferenceEngine } from './engine';
import type { ProviderAdapter } from '../providers/provider';
import { aModel, anEndpoint, anEngine, aProvider } from '../testing';

const CHAT = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] };
const MESSAGE = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** Answers at once. */
const adapter: ProviderAdapter = {
  chat: async () => ({ status: 200, body: Buffer.from(JSON.stringify(CHAT)) }),
  messages: async () => ({ status: 200, body: Buffer.from(JSON.stringify(MESSAGE)) }),
};

describe('an engine that gathers answers', () => {
  let close: () => Promise<void>;

  afterEach(() => close());

  const endpointOf = (api: 'chat' | 'messages') =>
    anEndpoint({ provider: aProvider({ apiKeyEnv: null }), apis: [api] });

  const anEngineThat = (gathersAnswers: boolean): InferenceEngine => {
    const { engine, http } = anEngine([aModel()], { adapters: new Map([['openai', adapter]]), gathersAnswers });
    close = () => http.close();
    return engine;
  };

  /** How many of two calls are over when all is done that waits for nothing from outside. */
  async function overWithinTurn(engine: InferenceEngine, api: 'chat' | 'messages'): Promise<number> {
    let over = 0;
    const calls = ['gen-1-a', 'gen-1-b'].map(async (generationId) => {
      const body = Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hi"}]}');
      const { signal } = new AbortController();
      await engine.callEndpoint('chat', { model: aModel(), endpoint: endpointOf(api) }, { generationId, body, signal });
      over += 1;
    });
    await new Promise<void>((resolve) => process.nextTick(resolve));
    for (let step = 0; step < 100; step += 1) await Promise.resolve();
    const soFar = over;
    await Promise.all(calls);
    return soFar;
  }

  it.each(['chat', 'messages'] as const)(
    'reads none before the end of the turn in which they come: %s',
    async (api) => {
      await turn();
      expect(await overWithinTurn(anEngineThat(true), api)).toBe(0);
    },
  );

  it.each(['chat', 'messages'] as const)('is no other, which reads each at once: %s', async (api) => {
    await turn();
    expect(await overWithinTurn(anEngineThat(false), api)).toBe(2);
  });
});
