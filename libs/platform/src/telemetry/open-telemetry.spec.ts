import { OtlpReceiver } from '../testing';
import { counter, durationHistogram, gauge, metricsRegistry } from './metrics';
import { startOpenTelemetry, type Telemetry } from './open-telemetry';
import { tracing, type SpanRecord } from './tracing';

const CAUSE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const work: SpanRecord = {
  name: 'chat vendor/model',
  kind: 'server',
  startMs: 1_763_900_000_000,
  endMs: 1_763_900_001_500,
  attributes: { 'gen_ai.request.model': 'vendor/model', 'gen_ai.usage.input_tokens': 7, nothing: null },
};

describe(startOpenTelemetry.name, () => {
  let receiver: OtlpReceiver;
  let telemetry: Telemetry;
  let warnings: string[];

  beforeEach(async () => {
    receiver = await OtlpReceiver.start();
    warnings = [];
    const logger = { log: () => undefined, error: () => undefined, warn: (text: string) => void warnings.push(text) };
    telemetry = startOpenTelemetry({
      endpoint: `${receiver.url}/`,
      app: 'gateway',
      serviceName: 'sluice',
      logger,
      spansEveryMs: 60_000,
      metricsEveryMs: 60_000,
    });
  });

  afterEach(async () => {
    await telemetry.stop(1_000);
    await receiver.close();
    metricsRegistry.resetMetrics();
  });

  const sample = async (name: string): Promise<number> => {
    const line = (await metricsRegistry.metrics()).split('\n').find((each) => each.startsWith(name));
    return Number(line?.split(' ').at(-1));
  };

  it('sends spans with their parts as parts of the trace that caused them', async () => {
    const parts: SpanRecord[] = [{ ...work, kind: 'client', errorType: '503', attributes: {} }];
    const traceparent = tracing()!.record({ ...work, parts }, CAUSE);
    await telemetry.stop(5_000);
    const [whole, part] = receiver.spans.toSorted((a, b) => a.kind - b.kind);
    expect(whole).toMatchObject({
      traceId: CAUSE.slice(3, 35),
      parentSpanId: CAUSE.slice(36, 52),
      name: 'chat vendor/model',
      startTimeUnixNano: '1763900000000000000',
      endTimeUnixNano: '1763900001500000000',
      attributes: { 'gen_ai.request.model': 'vendor/model', 'gen_ai.usage.input_tokens': 7 },
    });
    expect(whole!.attributes).not.toHaveProperty('nothing');
    expect(traceparent).toBe(`00-${whole!.traceId}-${whole!.spanId}-01`);
    const { spanId: parentSpanId, traceId } = whole!;
    expect(part).toMatchObject({ parentSpanId, traceId, attributes: { 'error.type': '503' } });
  });

  it.each([null, '', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])(
    'begins a trace where the cause is %j',
    async (cause) => {
      tracing()!.record(work, cause);
      await telemetry.stop(5_000);
      expect(receiver.spans).toHaveLength(1);
      expect(receiver.spans[0]!.parentSpanId ?? '').toBe('');
    },
  );

  it('keeps nothing of a trace that its beginner does not keep', async () => {
    const cause = `${CAUSE.slice(0, -2)}00`;
    expect(tracing()!.record(work, cause)).toBe(cause);
    await telemetry.stop(5_000);
    expect(receiver.spans).toEqual([]);
  });

  it('sends the metrics of the process under their names', async () => {
    counter({ name: 'sluice_things_total', help: 'Things', labelNames: ['kind'] }).inc({ kind: 'one' }, 3);
    gauge({ name: 'sluice_depth', help: 'Depth' }).set(5);
    const time = durationHistogram({ name: 'sluice_work_seconds', help: 'Work', buckets: [0.1, 1] });
    for (const seconds of [0.05, 0.5, 0.75, 7]) time.observe({}, seconds);
    await telemetry.stop(5_000);
    const found = (name: string) => receiver.metrics.find((metric) => metric.name === name);
    expect(found('sluice_things_total')?.sum).toMatchObject({
      isMonotonic: true,
      dataPoints: [{ asDouble: 3, attributes: [{ key: 'kind', value: { stringValue: 'one' } }] }],
    });
    expect(found('sluice_depth')?.gauge).toMatchObject({ dataPoints: [{ asDouble: 5 }] });
    expect(found('sluice_work_seconds')?.histogram).toMatchObject({
      dataPoints: [{ count: 4, sum: 8.3, bucketCounts: [1, 2, 1], explicitBounds: [0.1, 1] }],
    });
  });

  it('counts what the receiver does not take, and says so once', async () => {
    receiver.status = 400;
    for (let i = 0; i < 1_500; i += 1) tracing()!.record(work);
    await telemetry.stop(5_000);
    expect(warnings.filter((text) => text.includes('traces'))).toHaveLength(1);
    expect(await sample('sluice_telemetry_export_failures_total{signal="traces"}')).toBeGreaterThan(0);
  });

  it('drops and counts what finds no room, and waits for nobody', async () => {
    await receiver.close();
    for (let i = 0; i < 10_000; i += 1) tracing()!.record(work);
    expect(await sample('sluice_telemetry_spans_dropped_total')).toBe(10_000 - 8_192);
    const stoppedMs = performance.now();
    await telemetry.stop(300);
    expect(performance.now() - stoppedMs).toBeLessThan(2_000);
    receiver = await OtlpReceiver.start();
  });

  it('records nothing once it has stopped', async () => {
    await telemetry.stop(5_000);
    expect(tracing()).toBeNull();
  });
});
