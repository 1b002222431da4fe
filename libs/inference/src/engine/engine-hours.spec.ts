import { Cancellation, type CancelSignal } from '../model/cancellation';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { leftCallOf } from './left-call';
import type { RoutedRequest } from './inference-call';

const DEAR_END_MS = Date.UTC(2026, 0, 15, 17);
/** Trillionths of a dollar for a million tokens. */
const RATE = 1_000_000n;

describe('an endpoint whose rates are dear until 17 o’clock', () => {
  let upstream: FakeUpstream;
  let close: () => Promise<void>;
  let nowMs: number;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    nowMs = DEAR_END_MS - 1_000;
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await close();
    await upstream.close();
  });

  const anEngineWithHours = () => {
    const overrides = [{ utcStart: 16, utcEnd: 17, rates: { prompt: 100n * RATE } }];
    const pricing = { prompt: RATE, completion: 0n, overrides };
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const models = [aModel({ endpoints: [anEndpoint({ provider, apis: ['chat'], pricing })] })];
    const { engine, http } = anEngine(models, {}, { largestBodyBytes: 1_000 });
    close = () => http.close();
    return engine;
  };

  const aRequest = (signal: CancelSignal = new Cancellation()): RoutedRequest => ({
    generationId: 'gen-1-abc',
    model: 'acme/large',
    body: Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hi"}],"max_tokens":10}'),
    signal,
    expected: () => ({ maxTokens: 10, answers: 1, thinking: { isAsked: null, maxTokens: null } }),
  });

  const chargeOf = async (request: RoutedRequest) => {
    const thrown: unknown = await anEngineWithHours()
      .answer('chat', request)
      .catch((error: unknown) => error);
    return leftCallOf(thrown);
  };
  const DEAR = { usage: { promptTokens: 7 }, cost: { totalCost: 700n } };

  it('charges a call whose answer cannot be read by the hour in which it began', async () => {
    upstream.behaviour = (response) => {
      nowMs = DEAR_END_MS + 1_000;
      response.writeHead(200).end('x'.repeat(2_000));
    };
    expect(await chargeOf(aRequest())).toMatchObject(DEAR);
  });

  it('charges a call whose caller left by the hour in which it began', async () => {
    const cancellation = new Cancellation({ begin: () => null });
    upstream.behaviour = () => {
      nowMs = DEAR_END_MS + 1_000;
      cancellation.leave();
    };
    expect(await chargeOf(aRequest(cancellation))).toMatchObject(DEAR);
  });
});
