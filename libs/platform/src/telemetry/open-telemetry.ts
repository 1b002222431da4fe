import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { counter, metricsRegistry } from './metrics';
import { RegistryMetrics, type RegistryMetric } from './registry-metrics';
import { SpanRecorder } from './span-recorder';
import { traceTo } from './tracing';

/*
 * This file is loaded only if an operator configures a receiver: the SDK costs a process tens of milliseconds and some
 * megabytes.
 */

export interface TelemetryOptions {
  /** Base URL of an OTLP/HTTP receiver; `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint: string;
  readonly app: string;
  readonly serviceName: string;
  readonly logger: LoggerService;
  readonly metricsEveryMs?: number;
  readonly spansEveryMs?: number;
}

export interface Telemetry {
  /** Sends waiting data, for at most `withinMs`; nothing is recorded afterwards. */
  stop(withinMs: number): Promise<void>;
}

type Signal = 'traces' | 'metrics';
type Told = (result: { readonly code: number }) => void;
interface Exporter<Items> {
  export(items: Items, told: Told): void;
}

/** Most spans that wait or are being exported: about 4 MB. Further spans are dropped at once. */
const MOST_SPANS = 8_192;
const MOST_IN_ONE_EXPORT = 512;
const EXPORT_TIMEOUT_MS = 10_000;
const SPANS_EVERY_MS = 2_000;
const METRICS_EVERY_MS = 30_000;
const LONGEST_VALUE = 256;

const failures = counter({
  name: 'sluice_telemetry_export_failures_total',
  help: 'Exports that the OpenTelemetry receiver did not take',
  labelNames: ['signal'],
});
const dropped = counter({
  name: 'sluice_telemetry_spans_dropped_total',
  help: 'Spans that were not kept because too many wait for the receiver',
});

/** Traces from now on, and all metrics of the process, to an OTLP/HTTP receiver, as JSON. */
export function startOpenTelemetry(options: TelemetryOptions): Telemetry {
  const { endpoint, app, serviceName, logger, metricsEveryMs = METRICS_EVERY_MS } = options;
  const resource = resourceFromAttributes({
    'service.name': app,
    'service.namespace': serviceName,
    'service.instance.id': randomUUID(),
  });
  const config = (signal: Signal) => ({
    url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  let spansWaiting = 0;
  const spans = watched(new OTLPTraceExporter(config('traces')), 'traces', logger, (exported: readonly unknown[]) => {
    spansWaiting -= exported.length;
  });
  const tracers = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: spans,
        maxQueueSize: MOST_SPANS,
        maxExportBatchSize: MOST_IN_ONE_EXPORT,
        scheduledDelayMillis: options.spansEveryMs ?? SPANS_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: watched(new OTLPMetricExporter(config('metrics')), 'metrics', logger),
    exportIntervalMillis: metricsEveryMs,
    exportTimeoutMillis: Math.min(EXPORT_TIMEOUT_MS, metricsEveryMs),
    metricProducers: [new RegistryMetrics(readRegistry, resource)],
  });
  const meters = new MeterProvider({ resource, readers: [reader] });
  const admit = (more: number): boolean => {
    if (spansWaiting + more > MOST_SPANS) {
      dropped.inc(more);
      return false;
    }
    spansWaiting += more;
    return true;
  };
  traceTo(new SpanRecorder(tracers.getTracer('sluice'), admit));
  return {
    stop: async (withinMs) => {
      traceTo(null);
      const stopping = [tracers.shutdown(), meters.shutdown()].map((one) =>
        one.catch(() => failures.inc({ signal: 'traces' })),
      );
      await Promise.race([Promise.all(stopping), delay(withinMs, undefined, { ref: false })]);
    },
  };
}

async function readRegistry(): Promise<readonly RegistryMetric[]> {
  return (await metricsRegistry.getMetricsAsJSON()) as readonly RegistryMetric[];
}

/** Counts what the receiver refuses, and logs it once until it accepts data again. */
function watched<Items, E extends Exporter<Items>>(
  exporter: E,
  signal: Signal,
  logger: LoggerService,
  onOver: (items: Items) => void = () => undefined,
): E {
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (items: Items, told: Told): void =>
    send(items, (result) => {
      onOver(items);
      if (result.code !== 0) failures.inc({ signal });
      if (result.code !== 0 && !isFailing) logger.warn(`The OpenTelemetry receiver takes no ${signal}`);
      if (result.code === 0 && isFailing) logger.log(`The OpenTelemetry receiver takes ${signal} again`);
      isFailing = result.code !== 0;
      told(result);
    });
  return exporter;
}
