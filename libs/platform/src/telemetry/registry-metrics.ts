import { ValueType, type HrTime } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Resource } from '@opentelemetry/resources';

/** One metric as prom-client's registry returns it. */
export interface RegistryMetric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly RegistryValue[];
}

interface RegistryValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

/** Makes the registry behind `GET /metrics` a source for OpenTelemetry: the same names, labels and values. */
export class RegistryMetrics implements MetricProducer {
  readonly #startTime = hrTime();

  constructor(
    private readonly read: () => Promise<readonly RegistryMetric[]>,
    private readonly resource: Resource,
  ) {}

  async collect(): Promise<CollectionResult> {
    const endTime = hrTime();
    const metrics = (await this.read()).map((metric) => this.#dataOf(metric, endTime));
    const scopeMetrics = [{ scope: { name: 'sluice' }, metrics }];
    return { resourceMetrics: { resource: this.resource, scopeMetrics }, errors: [] };
  }

  #dataOf({ name, help, type, values }: RegistryMetric, endTime: HrTime): MetricData {
    const startTime = this.#startTime;
    const descriptor = { name, description: help, unit: '', valueType: ValueType.DOUBLE };
    const metric = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
    if (type === 'histogram') {
      const dataPoints = histogramsOf(name, values).map((point) => ({ ...point, startTime, endTime }));
      return { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints };
    }
    const dataPoints = values.map(({ value, labels }) => ({ attributes: labels, value, startTime, endTime }));
    if (type === 'counter') return { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
    return { ...metric, dataPointType: DataPointType.GAUGE, dataPoints };
  }
}

type Point = Pick<DataPoint<Histogram>, 'attributes' | 'value'>;

/** Converts Prometheus' cumulative buckets to counts per bucket. */
function histogramsOf(name: string, values: readonly RegistryValue[]): Point[] {
  const series = new Map<
    string,
    { readonly labels: RegistryValue['labels']; bounds: [number, number][]; sum: number }
  >();
  for (const { value, labels, metricName } of values) {
    const { le, ...own } = labels;
    const key = JSON.stringify(Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1)));
    let one = series.get(key);
    if (one === undefined) series.set(key, (one = { labels: own, bounds: [], sum: 0 }));
    if (le !== undefined) one.bounds.push([le === '+Inf' ? Infinity : Number(le), value]);
    else if (metricName === `${name}_sum`) one.sum = value;
  }
  return [...series.values()].map(({ labels, bounds, sum }) => {
    const sorted = bounds.sort(([a], [b]) => a - b);
    const counts = sorted.map(([, count], index) => count - (sorted[index - 1]?.[1] ?? 0));
    const boundaries = sorted.map(([bound]) => bound).filter(Number.isFinite);
    return { attributes: labels, value: { buckets: { boundaries, counts }, sum, count: sorted.at(-1)?.[1] ?? 0 } };
  });
}

function hrTime(): HrTime {
  const nowMs = Date.now();
  return [Math.floor(nowMs / 1_000), (nowMs % 1_000) * 1_000_000];
}
