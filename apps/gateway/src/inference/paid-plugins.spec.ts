import type { ServerResponse } from 'node:http';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { anOwnCredential } from '@libs/inference/testing';
import type { Fields } from '../server-tools/named-tools';
import type { BoundPlugin, Plugin } from '../plugins/plugin';
import { RequestBody } from '../plugins/request-body';
import { CHAT_ANSWER, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const SEARCH = { type: 'plugin', name: 'web' } as const;
const SEARCH_PICO_USD = 10_000_000_000n;
const PAGES = 'pages that the search has found and that the model is to read. '.repeat(60);

let searches: number;
/** The search goes on until its caller has left. */
let isSlow: boolean;

/** Searches for money, and puts what it found into the prompt. */
class PaidSearch implements Plugin {
  readonly id = 'web';

  bind(): BoundPlugin {
    return {
      stage: SEARCH,
      mostPicoUsd: SEARCH_PICO_USD,
      prepare: async (body, { signal }) => {
        searches += 1;
        if (isSlow) {
          if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          throw new AppError('request_timeout', 'Left');
        }
        const parsed = { ...body.parsed, messages: [{ role: 'user', content: PAGES }] } as Fields;
        return { body: new RequestBody('chat', Buffer.from(JSON.stringify(parsed)), parsed), stage: SEARCH };
      },
    };
  }
}

const asked = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }], plugins: [{ id: 'web' }] };

let app: InferenceApp;

beforeEach(async () => {
  searches = 0;
  isSlow = false;
  app = await InferenceApp.start([], null, [new PaidSearch(), new Judge()]);
  app.answer = (_request, response) => whole(response);
});

afterEach(() => app.close());

const whole = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER));

const costsOf = (): string[] => app.books.settled.map(({ costUsd }) => costUsd);

describe('a request whose plugins cost something', () => {
  it('has the prompt that they made reserved before it is sent', async () => {
    expect((await app.post('chat/completions', asked)).status).toBe(200);
    expect(app.books.extensions).toHaveLength(1);
    // About 800 tokens, at a dollar per million.
    expect(Number(app.books.extensions[0])).toBeGreaterThan(0.000_7);
    expect(Number(app.books.extensions[0])).toBeLessThanOrEqual(0.001);
  });

  it('is refused where that is not there, and what they cost is paid', async () => {
    app.books.extensionsLeft = 0;
    const response = await app.post('chat/completions', asked);
    expect(response.status).toBe(402);
    await until(() => app.books.settled.length === 1);
    expect(app.upstreamCalls).toEqual([]);
    expect(costsOf()).toEqual(['0.01']);
  });

  it('pays for them also where the call fails afterwards', async () => {
    app.answer = (_request, response) => void response.writeHead(503).end('{}');
    expect((await app.post('chat/completions', asked)).status).toBe(503);
    await until(() => app.books.settled.length === 1);
    expect(costsOf()).toEqual(['0.01']);
  });

  it('pays for a search that was under way when the caller left', async () => {
    isSlow = true;
    const leaving = new AbortController();
    app.post('chat/completions', asked, { signal: leaving.signal }).catch(() => undefined);
    await until(() => searches === 1);
    leaving.abort();
    await until(() => app.books.settled.length === 1);
    expect(costsOf()).toEqual(['0.01']);
    expect(app.upstreamCalls).toEqual([]);
  });

  it('keeps what they cost apart from what the provider charges', async () => {
    expect((await app.post('chat/completions', asked)).status).toBe(200);
    await until(() => app.books.settled.length === 1);
    expect(app.books.settled[0]!.details).toMatchObject({ gatewayToolsUsd: '0.01' });
  });

  it('has none of them run where no endpoint could serve it', async () => {
    const { status } = await app.post('chat/completions', { ...asked, model: 'test/unknown' });
    expect(status).toBe(400);
    expect(searches).toBe(0);
    expect(costsOf()).toEqual([]);
  });
});

/** Has the model of the call judge its answer. */
class Judge implements Plugin {
  readonly id = 'judge';

  bind(): BoundPlugin {
    const stage = { type: 'guardrail', name: 'judge' } as const;
    return {
      stage,
      review: async ({ ask }) => {
        await ask({ model: 'test/chat', messages: asked.messages, maxTokens: 8 });
        return { stage, shown: {} };
      },
    };
  }
}

describe('a question of a plugin', () => {
  it('is recorded with its provider and its cost', async () => {
    expect((await app.post('chat/completions', { ...asked, plugins: [{ id: 'judge' }] })).status).toBe(200);
    await until(() => app.books.settled.length === 1);
    const { details } = app.books.settled[0]!;
    expect(details.asked).toMatchObject([{ provider: 'test', costUsd: details.gatewayToolsUsd }]);
    expect(details.asked![0]!.completionTokens).toBeGreaterThan(0);
  });
});

describe('a question of a plugin that runs on a key of the caller', () => {
  it('counts with what its provider charges, as the answer does', async () => {
    app.vault = {
      credentialsOf: () => [anOwnCredential({ provider: 'test' })],
      open: async () => new Secret('sk-own-0123456789abcdef'),
      noteVerdict: () => undefined,
    };
    expect((await app.post('chat/completions', { ...asked, plugins: [] })).status).toBe(200);
    expect((await app.post('chat/completions', { ...asked, plugins: [{ id: 'judge' }] })).status).toBe(200);
    await until(() => app.books.settled.length === 2);
    const [plain, judged] = app.books.settled.map(({ costUsd, byokFeeUsd, details }) => ({
      costUsd: Number(costUsd),
      byokFeeUsd: Number(byokFeeUsd),
      upstreamCostUsd: Number(details.upstreamCostUsd),
    }));
    expect(plain!.upstreamCostUsd).toBeGreaterThan(0);
    expect(judged!.upstreamCostUsd).toBeCloseTo(2 * plain!.upstreamCostUsd, 12);
    expect(judged!.byokFeeUsd).toBeCloseTo(2 * plain!.byokFeeUsd, 12);
    expect(judged!.costUsd).toBeCloseTo(judged!.byokFeeUsd, 12);
    expect(app.books.settled[1]!.details.asked).toBeUndefined();
  });
});
