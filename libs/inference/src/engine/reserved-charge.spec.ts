import type { JsonObject } from '@libs/json';
import { APIS } from '../apis/apis';
import type { Api } from '../catalogue/catalogue-entries';
import { Cancellation } from '../model/cancellation';
import { parseRate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { leftCallOf } from './left-call';

const PRICING = { prompt: 0n, completion: 0n, webSearch: parseRate('0.01') };
const SEARCH_PICO_USD = 10_000_000_000n;
const SEARCH = { type: 'web_search' };

describe('a whole answer that is given up', () => {
  let upstream: FakeUpstream;
  let close: () => Promise<void>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
  });

  afterEach(async () => {
    await close();
    await upstream.close();
  });

  async function leftUsage(asked: JsonObject, apis: readonly Api[] = ['responses'], pricing: PriceList = PRICING) {
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const endpoint = anEndpoint({ provider, apis, pricing, contextLength: 400_000 });
    const { engine, http } = anEngine([aModel({ endpoints: [endpoint] })]);
    close = () => http.close();
    const cancellation = new Cancellation({ begin: () => null });
    upstream.behaviour = () => cancellation.leave();
    const body = { model: 'acme/large', input: 'Hi', max_output_tokens: 700, ...asked };
    const thrown: unknown = await engine
      .answer('responses', {
        generationId: 'gen-1-abc',
        model: 'acme/large',
        body: Buffer.from(JSON.stringify(body)),
        signal: cancellation,
        expected: () => ({ ...APIS.responses.outputOf(body), toolUses: APIS.responses.toolUsesOf(body) }),
      })
      .catch((error: unknown) => error);
    const { usage, cost } = leftCallOf(thrown)!;
    return [usage.promptTokens > 100_000, usage.completionTokens, cost.totalCost];
  }

  it('is charged all that it reserved where its provider may use tools', async () => {
    expect(await leftUsage({ tools: [SEARCH] })).toEqual([true, 700, 5n * SEARCH_PICO_USD]);
    await close();
    expect(await leftUsage({ tools: [SEARCH], max_tool_calls: 7 })).toEqual([true, 700, 7n * SEARCH_PICO_USD]);
  });

  it('is charged its prompt without tools, also where a translation leaves them out', async () => {
    const call = { type: 'function', name: 'f', parameters: {} };
    expect(await leftUsage({ tools: [call] })).toEqual([false, 0, 0n]);
    await close();
    expect(await leftUsage({ tools: [SEARCH] }, ['chat'], { prompt: 0n, completion: 0n })).toEqual([false, 0, 0n]);
  });

  it('is charged the searches of a model that searches by itself', async () => {
    expect(await leftUsage({}, ['chat'])).toEqual([false, 700, 30n * SEARCH_PICO_USD]);
  });
});
