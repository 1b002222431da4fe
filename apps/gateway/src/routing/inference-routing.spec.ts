import { parsePercent, SharedCredentials, type CatalogueSource, type OwnCredential } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, anOwnCredential, aProvider } from '@libs/inference/testing';
import { aPrincipal } from '@libs/platform/testing';
import { InferenceRouting, type Byok } from './inference-routing';

const at = (slug: string, prompt: bigint) =>
  anEndpoint({ provider: aProvider({ slug, apiKeyEnv: `${slug}_KEY` }), pricing: { prompt, completion: 0n } });
const endpoints = [at('cheap', 10_000_000n), at('dear', 60_000_000n)];
const catalogue = aCatalogue(aModel({ slug: 'acme/large', endpoints }));
const expected = { api: 'chat', models: ['acme/large'], promptTokens: 100_000, maxTokens: 0, answers: 1 } as const;
const [CHEAP, DEAR] = [1_000_000n, 6_000_000n];

function routingWith(operatorKeys: readonly string[], byok: Byok | null): InferenceRouting {
  const shared = new SharedCredentials(Object.fromEntries(operatorKeys.map((slug) => [`${slug}_KEY`, 'key'])));
  const source = { current: () => catalogue } as CatalogueSource;
  return new InferenceRouting(source, new Map(), shared, byok);
}

function holdOf(operatorKeys: readonly string[], own?: readonly OwnCredential[]): bigint {
  const byok = own ? { credentials: { ownCredentials: () => own }, fee: parsePercent('5') } : null;
  return routingWith(operatorKeys, byok).holdFor(aPrincipal(), expected, own);
}

describe('the hold of a call without own provider keys', () => {
  it.each([[undefined], [[]]])('counts no provider without a key of the operator (%p)', (own) => {
    expect(holdOf(['cheap'], own)).toBe(CHEAP);
    expect(holdOf(['cheap', 'dear'], own)).toBe(DEAR);
  });

  it('counts all providers where the operator has no key at all', () => {
    expect(holdOf([], [])).toBe(DEAR);
  });

  it('counts the fee where only an own key could serve, while own keys are not loaded', () => {
    const loading = { credentials: { ownCredentials: () => new Promise<never>(() => {}) }, fee: parsePercent('5') };
    expect(routingWith(['cheap'], loading).holdFor(aPrincipal(), expected)).toBe(CHEAP);
    expect(routingWith(['dear'], loading).holdFor(aPrincipal(), expected)).toBe(DEAR);
    expect(routingWith([], loading).holdFor(aPrincipal(), expected)).toBe(DEAR / 20n);
  });

  it('counts a provider that an own key opens', () => {
    const own = [anOwnCredential({ provider: 'dear' })];
    // A fee of 5 per cent at `dear`.
    expect(holdOf(['cheap'], own)).toBe(CHEAP);
    expect(holdOf(['dear'], own)).toBe(DEAR);
  });
});
