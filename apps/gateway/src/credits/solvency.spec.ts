import type { Catalogue, Endpoint, OwnCredential, PriceList } from '@libs/inference';
import { anOwnCredential } from '@libs/inference/testing';
import { aPrincipal } from '@libs/platform/testing';
import { Solvency } from './solvency';

const caller = aPrincipal({ organizationId: 'acme', workspaceId: 'workspace' });
type Offer = Pick<Endpoint, 'apis' | 'pricing' | 'batchPricing'>;

const anOffer = (apis: Endpoint['apis'], pricing: PriceList, batchPricing = pricing): Offer => ({
  apis,
  pricing,
  batchPricing,
});
const PRICE = { prompt: 1_000_000_000_000n, completion: 2_000_000_000_000n };
const PAID = anOffer(['chat'], PRICE);
const FREE = anOffer(['chat'], { prompt: 0n, completion: 0n, webSearch: 5n });
const FREE_IN_BATCHES = anOffer(['chat'], PRICE, { prompt: 0n, completion: 0n });
const BY_THE_SECOND = anOffer(['transcription'], { prompt: 0n, completion: 0n, audioSecond: 1n });

describe(Solvency.name, () => {
  let nowMs: number;
  let balanceUsd: string;
  let heldUsd: string;
  let asked: number;

  beforeEach(() => {
    nowMs = 0;
    balanceUsd = '0';
    heldUsd = '0';
    asked = 0;
  });

  function solvency(offers: readonly Offer[] = [PAID], own: readonly OwnCredential[] = []): Solvency {
    const catalogue = { models: () => [{ endpoints: offers }] } as unknown as Catalogue;
    const ledger = {
      accountOf: async () => {
        asked += 1;
        return { balanceUsd, heldUsd, availableUsd: String(Number(balanceUsd) - Number(heldUsd)) };
      },
    };
    const credentials = { ownCredentials: () => own };
    const submissions = [
      { findSubmitted: async () => null },
      {
        findSubmitted: async (_tenant: object, key: string) =>
          key === 'used' ? { id: 'video', requestHash: '' } : null,
      },
    ];
    return new Solvency({ ledger, credentials, catalogue: () => catalogue, submissions }, () => nowMs);
  }

  it.each(['0', '-1.5'])('knows that an organization with %s USD can pay for nothing', async (balance) => {
    balanceUsd = balance;
    expect(await solvency().shortfallOf(caller)).toEqual({ leftUsd: balance, leastUsd: '0.000001' });
  });

  it('lets an organization through that has anything', async () => {
    balanceUsd = '0.000000000001';
    expect(await solvency().shortfallOf(caller)).toBeNull();
  });

  it('lets an organization through whose credits are set aside: an answer that is over may give them back', async () => {
    balanceUsd = '1';
    heldUsd = '1';
    expect(await solvency().shortfallOf(caller)).toBeNull();
  });

  it('says what the least is that a request reserves, at any price', async () => {
    const { leastUsd } = (await solvency([PAID, BY_THE_SECOND]).shortfallOf(caller))!;
    expect(leastUsd).toBe('0.000000000001');
  });

  it('lets a caller with a provider key of its own through, and asks nobody', async () => {
    expect(await solvency([PAID], [anOwnCredential()]).shortfallOf(caller)).toBeNull();
    expect(asked).toBe(0);
  });

  it.each([{ isDisabled: true }, { allowedApiKeyHashes: ['of another'] }])(
    'does not count a provider key that the caller may not use: %j',
    async (restriction) => {
      expect(await solvency([PAID], [anOwnCredential(restriction)]).shortfallOf(caller)).not.toBeNull();
    },
  );

  it('knows which submissions were accepted before', async () => {
    expect(await solvency().hasSubmitted(caller, 'used')).toBe(true);
    expect(await solvency().hasSubmitted(caller, 'new')).toBe(false);
  });

  it.each([FREE, FREE_IN_BATCHES])('lets everybody through where a model is free', async (offer) => {
    expect(await solvency([PAID, offer]).shortfallOf(caller)).toBeNull();
  });

  it.each([
    ['by the second', { audioSecond: 1n }],
    ['by the second at each resolution', { videoSecondByResolution: { '720p': 1n } }],
    ['by the video', { video: 1n }],
  ])('does not take a model for free that is charged %s', async (_what, rates) => {
    const offer = anOffer(['video'], { prompt: 0n, completion: 0n, ...rates });
    expect(await solvency([PAID, offer]).shortfallOf(caller)).not.toBeNull();
  });

  it('takes a film for free whose seconds cost nothing at any resolution', async () => {
    const offer = anOffer(['video'], { prompt: 0n, completion: 0n, videoSecondByResolution: { '720p': 0n } });
    expect(await solvency([PAID, offer]).shortfallOf(caller)).toBeNull();
  });

  it('asks once for callers at the same time, and notices a top-up within two seconds', async () => {
    const judge = solvency();
    await Promise.all([judge.shortfallOf(caller), judge.shortfallOf(caller)]);
    expect(asked).toBe(1);
    balanceUsd = '5';
    expect(await judge.shortfallOf(caller)).not.toBeNull();
    nowMs += 2_000;
    expect(await judge.shortfallOf(caller)).toBeNull();
  });
});
