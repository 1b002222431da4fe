import { anEndpoint, aProvider } from '../testing';
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

  it('forgets the endpoint that was longest without news when it knows too many', () => {
    const nth = (i: number) => anEndpoint({ upstreamModel: `model-${i}` });
    for (let i = 0; i < 4_096; i += 1) health.failed(nth(i));
    health.failed(nth(0));
    health.failed(nth(4_096));
    expect([0, 1, 2].map((i) => health.hadOutage(nth(i)))).toEqual([true, false, true]);
  });
});
