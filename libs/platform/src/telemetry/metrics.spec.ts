import { forgetOwnMetrics } from '../testing/own-metrics';
import { counter, durationHistogram, gauge, histogram, metricsRegistry, startProcessMetrics } from './metrics';

forgetOwnMetrics();

describe(startProcessMetrics.name, () => {
  it('measures the event loop and the heap, under the name of the app', async () => {
    startProcessMetrics('gateway');
    const text = await metricsRegistry.metrics();
    expect(text).toMatch(/nodejs_eventloop_lag_p99_seconds\{app="gateway"\}/);
    expect(text).toMatch(/nodejs_heap_size_used_bytes\{app="gateway"\} \d/);
  });
});

describe(durationHistogram.name, () => {
  it('counts in buckets of seconds and is the same one for the same name', async () => {
    const ask = () =>
      durationHistogram({ name: 'sluice_call_duration_seconds', help: 'Time of a call', labelNames: ['contract'] });
    ask().observe({ contract: 'auth.verify-key' }, 0.003);
    ask().observe({ contract: 'auth.verify-key' }, 0.3);
    expect(ask()).toBe(ask());
    const text = await metricsRegistry.metrics();
    expect(text).toMatch(/sluice_call_duration_seconds_bucket\{le="0\.005",[^}]*contract="auth\.verify-key"[^}]*\} 1/);
    expect(text).toMatch(/sluice_call_duration_seconds_bucket\{le="\+Inf",[^}]*\} 2/);
    expect(text).toMatch(/sluice_call_duration_seconds_sum\{[^}]*\} 0\.303/);
    expect(text).toMatch(/sluice_call_duration_seconds_count\{[^}]*\} 2/);
    expect(text).toContain('# TYPE sluice_call_duration_seconds histogram');
  });

  it('refuses a name without its unit', () => {
    expect(() => durationHistogram({ name: 'sluice_call_time', help: 'x' })).toThrow('_seconds');
    expect(() => counter({ name: 'sluice_calls', help: 'x' })).toThrow('_total');
  });
});

describe(gauge.name, () => {
  it('asks for its value on every scrape', async () => {
    let depth = 1;
    gauge({ name: 'sluice_queue_depth', help: 'x', collect: (self) => self.set(depth) });
    expect(await metricsRegistry.metrics()).toMatch(/sluice_queue_depth\{app="gateway"\} 1/);
    depth = 5;
    expect(await metricsRegistry.metrics()).toMatch(/sluice_queue_depth\{app="gateway"\} 5/);
  });

  it('refuses a name that another kind of metric has', () => {
    counter({ name: 'sluice_things_total', help: 'x' }).inc();
    expect(() => gauge({ name: 'sluice_things_total', help: 'x' })).toThrow('another kind');
    expect(() => histogram({ name: 'sluice_things_total', help: 'x' })).toThrow('another kind');
  });
});
