import { aModel, anEndpoint, aProvider } from '../testing';
import type { OwnCredential } from './credential-source';
import { ProviderHealth } from './provider-health';

describe(ProviderHealth.name, () => {
  let nowMs: number;
  let health: ProviderHealth;
  const endpoint = anEndpoint();

  beforeEach(() => {
    nowMs = 1_000_000;
    health = new ProviderHealth(() => nowMs);
  });

  const times = (count: number, what: () => void): void => {
    for (let i = 0; i < count; i += 1) what();
  };

  it('remembers a failure for about half a minute', () => {
    health.failed(endpoint);
    expect(health.hadOutage(endpoint)).toBe(true);
    nowMs += 29_000;
    expect(health.hadOutage(endpoint)).toBe(true);
    nowMs += 1_001;
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('notices an outage and opens the breaker in the first seconds of a process', () => {
    nowMs = 1_500;
    health = new ProviderHealth(() => nowMs);
    health.failed(endpoint);
    expect(health.hadOutage(endpoint)).toBe(true);
    times(20, () => health.failed(endpoint));
    expect(health.restOf(endpoint)).toEqual({ forMs: 5_000, because: 'breaker' });
  });

  it('knows nothing of endpoints it never heard of', () => {
    health.succeeded(endpoint);
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('forgives a failure among many successes', () => {
    health.failed(endpoint);
    times(4, () => health.succeeded(endpoint));
    expect(health.hadOutage(endpoint)).toBe(true);
    health.succeeded(endpoint);
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('forgets old failures while new calls go on', () => {
    times(10, () => health.failed(endpoint));
    nowMs += 16_000;
    times(10, () => health.succeeded(endpoint));
    expect(health.hadOutage(endpoint)).toBe(true);
    nowMs += 16_000;
    health.succeeded(endpoint);
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('lets an endpoint rest as long as it asked for', () => {
    health.failed(endpoint, 120);
    nowMs += 119_000;
    expect(health.hadOutage(endpoint)).toBe(true);
    nowMs += 1_001;
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('tells endpoints apart by provider, region and model, not by object', () => {
    health.failed(endpoint);
    expect(health.hadOutage(anEndpoint())).toBe(true);
    expect(health.hadOutage(anEndpoint({ upstreamModel: 'other' }))).toBe(false);
    expect(health.hadOutage(anEndpoint({ region: 'europe' }))).toBe(false);
    expect(health.hadOutage(anEndpoint({ provider: aProvider({ slug: 'other' }) }))).toBe(false);
  });

  it('forgets endpoints without news when it knows too many, and none that has some', () => {
    const nth = (i: number) => anEndpoint({ upstreamModel: `model-${i}` });
    for (let i = 0; i < 4_096; i += 1) {
      health.failed(nth(i));
      if (i % 1_000 === 0) health.failed(nth(0));
    }
    expect([0, 1, 4_095].map((i) => health.hadOutage(nth(i)))).toEqual([true, false, true]);
  });

  it('does not take one failure among many successes for an outage, whichever came first', () => {
    times(5, () => health.succeeded(endpoint));
    health.failed(endpoint);
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  describe('the breaker', () => {
    const rest = () => health.restOf(endpoint);

    it('opens when half of twenty calls in ten seconds failed', () => {
      times(10, () => health.succeeded(endpoint));
      times(9, () => health.failed(endpoint));
      expect(rest()).toBeNull();
      health.failed(endpoint);
      expect(rest()).toEqual({ forMs: 5_000, because: 'breaker' });
    });

    it('stays closed for fewer calls, for a smaller share and for failures long ago', () => {
      times(19, () => health.failed(endpoint));
      expect(rest()).toBeNull();
      nowMs += 11_000;
      times(11, () => health.succeeded(endpoint));
      times(10, () => health.failed(endpoint));
      expect(rest()).toBeNull();
    });

    it('lets one probe through every five seconds, and closes when one succeeds', () => {
      times(20, () => health.failed(endpoint));
      expect(health.admits({ endpoint })).toBe(false);
      nowMs += 5_000;
      expect(rest()).toBeNull();
      expect([health.admits({ endpoint }), health.admits({ endpoint })]).toEqual([true, false]);
      health.failed(endpoint);
      nowMs += 4_999;
      expect(health.admits({ endpoint })).toBe(false);
      nowMs += 1;
      expect(health.admits({ endpoint })).toBe(true);
      health.succeeded(endpoint);
      expect(health.hadOutage(endpoint)).toBe(false);
      expect([health.admits({ endpoint }), health.admits({ endpoint })]).toEqual([true, true]);
    });

    it('lets another probe through at once after one that said nothing of the endpoint', () => {
      times(20, () => health.failed(endpoint));
      nowMs += 5_000;
      expect(health.admits({ endpoint })).toBe(true);
      health.saidNothing(endpoint);
      expect([health.admits({ endpoint }), health.admits({ endpoint })]).toEqual([true, false]);
      health.succeeded(endpoint);
      expect([health.admits({ endpoint }), health.admits({ endpoint })]).toEqual([true, true]);
    });

    it('stays open after a call under way when it opened that said nothing of the endpoint', () => {
      times(20, () => health.failed(endpoint));
      health.saidNothing(endpoint);
      expect(health.admits({ endpoint })).toBe(false);
    });

    it('is not closed by a call that was under way when it opened', () => {
      times(20, () => health.failed(endpoint));
      health.succeeded(endpoint);
      expect(health.admits({ endpoint })).toBe(false);
    });

    it('lets almost nothing through while an upstream is down', () => {
      let calls = 0;
      for (let i = 0; i < 3_000; i += 1) {
        nowMs += 20;
        if (!health.admits({ endpoint })) continue;
        calls += 1;
        health.failed(endpoint);
      }
      expect(calls).toBeLessThanOrEqual(20 + 60 / 5);
    });
  });

  describe('credentials', () => {
    const credential = { id: 'own' } as OwnCredential;

    it('are told apart', () => {
      times(20, () => health.failed(endpoint, 0, { credential }));
      expect(health.admits({ endpoint, credential })).toBe(false);
      expect(health.admits({ endpoint })).toBe(true);
      expect(health.hadOutage(endpoint)).toBe(false);
    });

    it('rest one upstream model after a 429, wherever it is called, and no other model of the provider', () => {
      const sibling = anEndpoint({ region: 'eu' });
      health.failed(endpoint, 7, { isQuota: true });
      expect(health.restOf(sibling)).toEqual({ forMs: 7_000, because: 'quota' });
      expect(health.restOf(sibling, credential)).toBeNull();
      expect(health.restOf(anEndpoint({ upstreamModel: 'other' }))).toBeNull();
      nowMs += 6_999;
      expect(health.admits({ endpoint: sibling })).toBe(false);
      nowMs += 1;
      expect(health.admits({ endpoint: sibling })).toBe(true);
    });

    it('rest after many 429s for no longer than the provider asked', () => {
      for (let call = 0; call < 20; call += 1) health.succeeded(endpoint);
      for (let call = 0; call < 20; call += 1) health.failed(endpoint, 1, { isQuota: true });
      expect(health.restOf(endpoint)).toMatchObject({ because: 'quota' });
      nowMs += 1_000;
      expect(health.restOf(endpoint)).toBeNull();
      expect(health.hadOutage(endpoint)).toBe(false);
    });

    it('rest all models of a quota group after a 429 of one of them', () => {
      const [one, other] = ['one', 'other'].map((upstreamModel) => anEndpoint({ upstreamModel, quotaGroup: 'g' }));
      health.failed(one!, 7, { isQuota: true });
      expect(health.restOf(other!)).toEqual({ forMs: 7_000, because: 'quota' });
      expect(health.restOf(other!, credential)).toBeNull();
      expect(health.restOf(anEndpoint({ upstreamModel: 'alone' }))).toBeNull();
      const elsewhere = anEndpoint({ provider: aProvider({ slug: 'another' }), quotaGroup: 'g' });
      expect(health.restOf(elsewhere)).toBeNull();
    });
  });

  it('keeps the wish of an overloaded endpoint to that endpoint, and looks again after an hour', () => {
    health.failed(endpoint, 86_400);
    expect(health.restOf(endpoint)).toEqual({ forMs: 3_600_000, because: 'overload' });
    expect(health.restOf(anEndpoint({ upstreamModel: 'other' }))).toBeNull();
  });

  it('lets requests try an upstream again only as far as the budget goes', () => {
    const again = () => health.admits({ endpoint: anEndpoint({ region: 'eu' }) }, [{ endpoint }]);
    expect([again(), again()]).toEqual([true, false]);
    times(10, () => health.admits({ endpoint }));
    expect([again(), again()]).toEqual([true, false]);
    const elsewhere = anEndpoint({ provider: aProvider({ slug: 'other' }) });
    expect(health.admits({ endpoint: elsewhere }, [{ endpoint }])).toBe(true);
  });

  it('says when to come back where nothing was admitted', () => {
    const model = aModel();
    expect(health.restingError([{ model, endpoint }])).toMatchObject({ status: 503, retryAfterSeconds: 1 });
    health.failed(endpoint, 7, { isQuota: true });
    expect(health.restingError([{ model, endpoint }])).toMatchObject({ status: 429, retryAfterSeconds: 7 });
  });
});
