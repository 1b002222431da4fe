import { anEndpoint } from '../testing';
import { EndpointHistory } from './endpoint-history';

const MINUTE_MS = 60_000;

describe(EndpointHistory.name, () => {
  const endpoint = anEndpoint();
  let nowMs: number;
  let history: EndpointHistory;

  beforeEach(() => {
    nowMs = 1_000 * MINUTE_MS;
    history = new EndpointHistory(() => nowMs);
  });

  const end = (failures: number, answers: number): void => {
    for (let call = 0; call < failures + answers; call += 1) history.ended(endpoint, call < failures);
  };

  it('has null for an endpoint that was not called', () => {
    expect(history.recordOf(endpoint)).toEqual({
      last5m: null,
      last30m: null,
      last1d: null,
      latency: null,
      throughput: null,
    });
  });

  it('has the share of calls that were answered, in percent', () => {
    end(1, 2);
    expect(history.recordOf(endpoint)).toMatchObject({ last5m: 66.67, last30m: 66.67, last1d: 66.67 });
  });

  it('forgets calls after five minutes, after half an hour and after a day', () => {
    end(1, 0);
    nowMs += 4 * MINUTE_MS;
    end(0, 1);
    expect(history.recordOf(endpoint)).toMatchObject({ last5m: 50, last30m: 50, last1d: 50 });
    nowMs += 2 * MINUTE_MS;
    expect(history.recordOf(endpoint)).toMatchObject({ last5m: 100, last30m: 50, last1d: 50 });
    nowMs += 30 * MINUTE_MS;
    expect(history.recordOf(endpoint)).toMatchObject({ last5m: null, last30m: null, last1d: 50 });
    nowMs += 25 * 60 * MINUTE_MS;
    expect(history.recordOf(endpoint)).toMatchObject({ last5m: null, last30m: null, last1d: null });
  });

  it('has percentiles of seconds to the first token and of tokens per second, for half an hour', () => {
    for (let call = 1; call <= 100; call += 1) {
      history.measured(endpoint, { firstTokenMs: call * 10, completionTokens: call, generationMs: 1_000 });
    }
    const { latency, throughput } = history.recordOf(endpoint);
    expect(latency!.p50 / 0.5).toBeCloseTo(1, 1);
    expect(latency!.p99 / 0.99).toBeCloseTo(1, 1);
    expect(throughput!.p50 / 50).toBeCloseTo(1, 1);
    expect(throughput!.p90 / 10).toBeCloseTo(1, 1);
    nowMs += 29 * MINUTE_MS;
    expect(history.recordOf(endpoint).latency).not.toBeNull();
    nowMs += 7 * MINUTE_MS;
    expect(history.recordOf(endpoint)).toMatchObject({ latency: null, throughput: null });
  });

  it('keeps endpoints apart', () => {
    end(0, 1);
    expect(history.recordOf(anEndpoint({ region: 'eu' })).last5m).toBeNull();
  });
});
