import { Secret } from '@libs/contracts';
import type { OwnCredential } from '@libs/inference';
import { anOwnCredential, waveFile } from '@libs/inference/testing';
import { until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const messages = [{ role: 'user', content: 'Hello!' }];
const audio = { data: waveFile(2.5).toString('base64'), format: 'wav' };

const CALLS: readonly (readonly [string, string, object])[] = [
  ['a chat completion', 'chat/completions', { model: 'test/chat', messages }],
  ['a streamed chat completion', 'chat/completions', { model: 'test/chat', messages, stream: true }],
  ['a response', 'responses', { model: 'test/responses', input: 'Hello!' }],
  ['vectors', 'embeddings', { model: 'test/embed', input: 'Hello!' }],
  ['a recording', 'audio/transcriptions', { model: 'test/speech', input_audio: audio }],
];

describe('a call that only a key of its own may serve', () => {
  const key = anOwnCredential({ provider: 'test', isByokOnly: true });
  const apps: InferenceApp[] = [];

  /** @param looks what the caller has at each look; the last for all that follow */
  const appWith = async (...looks: (readonly OwnCredential[])[]): Promise<InferenceApp> => {
    const app = await InferenceApp.start();
    apps.push(app);
    app.vault = {
      credentialsOf: () => (looks.length > 1 ? looks.shift()! : looks[0]!),
      open: async () => (looks[0]!.length > 0 ? new Secret('sk-own-0123456789abcdef') : null),
      noteVerdict: () => undefined,
    };
    return app;
  };

  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  const holdOf = async (app: InferenceApp, path: string, body: object): Promise<number> => {
    await (await app.post(path, body)).text();
    await until(() => app.books.opened.length > 0);
    return Number(app.books.opened[0]!.holdUsd);
  };

  it.each(CALLS)('reserves the fee alone: %s', async (_what, path, body) => {
    const listPrice = await holdOf(await appWith([]), path, body);
    expect(await holdOf(await appWith([key]), path, body)).toBeCloseTo(listPrice / 20, 9);
  });

  it.each(CALLS)('is not made on the key of the operator when its own was deleted meanwhile: %s', async (...call) => {
    const [, path, body] = call;
    const app = await appWith([key], []);
    expect((await app.post(path, body)).status).toBe(502);
    expect(app.upstreamCalls).toHaveLength(0);
  });
});
