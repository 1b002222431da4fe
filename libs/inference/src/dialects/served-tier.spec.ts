import { emptyUsage } from '../pricing/usage';
import { aModel, anAnswerContext, anEndpoint, aProvider } from '../testing';
import type { Endpoint } from '../catalogue/catalogue';
import { priceOf } from './billing';
import type { AnswerContext } from './dialect';
import { servedBy } from './served-tier';

const at = (rate: bigint) => ({
  pricing: { prompt: rate * 1_000_000n, completion: 0n },
  batchPricing: { prompt: 0n, completion: 0n },
});
const tier = (service_tier: string) => ({ capabilities: { service_tier } });
const STANDARD = anEndpoint(at(10n));
const PRIORITY = anEndpoint({ ...at(20n), ...tier('fast') });
const FLEX = anEndpoint({ ...at(5n), ...tier('flex') });
const OTHERS = [
  anEndpoint({ ...at(1n), ...tier('ultrafast'), upstreamModel: 'other' }),
  anEndpoint({ ...at(1n), ...tier('ultrafast'), region: 'eu' }),
  anEndpoint({ ...at(1n), ...tier('ultrafast'), provider: aProvider({ slug: 'other' }) }),
];

function chargedAt(endpoint: Endpoint, word: string | null | undefined, more: Partial<AnswerContext> = {}): bigint {
  const context = anAnswerContext({
    model: aModel({ endpoints: [...OTHERS, STANDARD, PRIORITY, FLEX] }),
    endpoint,
    ...more,
  });
  return priceOf({ ...emptyUsage('upstream'), promptTokens: 1 }, servedBy(context, word)).totalCost;
}

describe(servedBy.name, () => {
  it.each([
    ['the standard one', STANDARD, 'default', 10n],
    ['the standard one in other words', STANDARD, 'standard', 10n],
    ["the standard one in Groq's word", PRIORITY, 'on_demand', 10n],
    ['left to the provider', PRIORITY, 'auto', 20n],
    ['another than was asked', STANDARD, 'priority', 20n],
    ['the standard one in place of priority', PRIORITY, 'default', 10n],
    ['priority, which was asked', PRIORITY, 'priority', 20n],
    ['the standard one in place of flex', FLEX, 'default', 10n],
    ['flex', STANDARD, 'flex', 5n],
    ['one without an endpoint', STANDARD, 'ultrafast', 10n],
    ['one without a price', STANDARD, 'scale', 10n],
    ['a batch', FLEX, 'batch', 5n],
    ['none', PRIORITY, null, 20n],
  ])('charges an answer whose tier is %s', (_what, endpoint, word, picoUsd) => {
    expect(chargedAt(endpoint, word)).toBe(picoUsd);
  });

  it('knows the tiers of a provider that has a slug for each', () => {
    const priority = anEndpoint({ ...at(30n), provider: aProvider({ slug: 'acme/priority' }) });
    const standard = anEndpoint({ ...at(10n), provider: aProvider({ slug: 'acme' }) });
    const model = aModel({ endpoints: [standard, priority] });
    expect(chargedAt(priority, 'default', { model })).toBe(10n);
    expect(chargedAt(standard, 'priority', { model })).toBe(30n);
  });

  it("leaves lines of a provider's own batch at its batch prices", () => {
    const provider = aProvider({ batch: 'native' });
    const native = anEndpoint({ ...at(10n), provider, batchPricing: { prompt: 1_000_000n, completion: 0n } });
    const priority = anEndpoint({ ...at(20n), provider, capabilities: PRIORITY.capabilities });
    const model = aModel({ endpoints: [native, priority] });
    expect(chargedAt(native, 'priority', { priceList: 'batch', model })).toBe(1n);
  });

  it('charges lines of a batch that we run as single calls by the tier of their answers', () => {
    const batched = (endpoint: Endpoint, picoUsd: bigint): Endpoint => ({
      ...endpoint,
      batchPricing: { prompt: picoUsd * 1_000_000n, completion: 0n },
    });
    const model = aModel({ endpoints: [batched(STANDARD, 8n), batched(PRIORITY, 18n)] });
    expect(chargedAt(model.endpoints[0]!, 'default', { priceList: 'batch', model })).toBe(8n);
    expect(chargedAt(model.endpoints[0]!, 'priority', { priceList: 'batch', model })).toBe(18n);
  });
});
