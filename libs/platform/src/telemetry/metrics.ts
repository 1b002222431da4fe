import { collectDefaultMetrics, Counter, Gauge, Histogram, register, type Registry } from 'prom-client';
import { DurationHistogram } from './duration-histogram';

/**
 * The metrics of the process: one registry, served at `GET /metrics` of the health port.
 *
 * Names are `sluice_<noun>_<unit>`. A label has values from a small fixed set (a code, a provider's slug), never an id,
 * a path or text of a caller: each value is a time series that is kept forever.
 */
export const metricsRegistry: Registry = register;

export interface MetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}

export interface HistogramOptions<Label extends string> extends MetricOptions<Label> {
  readonly buckets?: readonly number[];
}

/** From a millisecond to two minutes: the range from a gateway's own work to a model's answer. */
const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
] as const;

/** Event-loop lag, heap, collection pauses, handles, CPU. */
export function startProcessMetrics(app: string): void {
  if (metricsRegistry.getSingleMetric('nodejs_eventloop_lag_seconds') !== undefined) return;
  metricsRegistry.setDefaultLabels({ app });
  collectDefaultMetrics({ register: metricsRegistry, eventLoopMonitoringPrecision: 20 });
}

/** Returns a histogram of seconds; its name ends in `_seconds`. The same name always gives the same histogram. */
export function durationHistogram<Label extends string = never>({
  name,
  help,
  labelNames = [],
  buckets = DURATION_BUCKETS_SECONDS,
}: HistogramOptions<Label>): DurationHistogram<Label> {
  if (!name.endsWith('_seconds')) throw new Error(`${name}: a duration's name ends in _seconds`);
  const existing = registered(name, DurationHistogram<Label>);
  if (existing) return existing;
  const made = new DurationHistogram<Label>({ name, help, labelNames, buckets });
  // The registry's type requires its own classes, but it only calls `get`.
  metricsRegistry.registerMetric(made as unknown as Histogram<Label>);
  return made;
}

export function histogram<Label extends string = never>(options: HistogramOptions<Label>): Histogram<Label> {
  const { name, help, labelNames = [], buckets } = options;
  return (
    registered(name, Histogram<Label>) ??
    new Histogram<Label>({ name, help, labelNames, ...(buckets && { buckets: [...buckets] }) })
  );
}

/** A count that only grows; the name ends in `_total`. */
export function counter<Label extends string = never>({
  name,
  help,
  labelNames = [],
}: MetricOptions<Label>): Counter<Label> {
  if (!name.endsWith('_total')) throw new Error(`${name}: a counter's name ends in _total`);
  return registered(name, Counter<Label>) ?? new Counter<Label>({ name, help, labelNames });
}

export interface GaugeOptions<Label extends string> extends MetricOptions<Label> {
  /** Called on every scrape to set the value. */
  readonly collect?: (gauge: Gauge<Label>) => void | Promise<void>;
}

export function gauge<Label extends string = never>({
  name,
  help,
  labelNames = [],
  collect,
}: GaugeOptions<Label>): Gauge<Label> {
  const existing = registered(name, Gauge<Label>);
  if (existing) return existing;
  return new Gauge<Label>({
    name,
    help,
    labelNames,
    ...(collect && {
      collect(this: Gauge<Label>) {
        return collect(this);
      },
    }),
  });
}

function registered<M extends object>(name: string, Kind: abstract new (...args: never[]) => M): M | undefined {
  const metric: object | undefined = metricsRegistry.getSingleMetric(name);
  if (metric === undefined || metric instanceof Kind) return metric as M | undefined;
  throw new Error(`The metric ${name} is of another kind`);
}
