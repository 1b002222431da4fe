import { metricsRegistry } from '../telemetry/metrics';

/**
 * Takes away again what the tests of a file registered. Metrics of other files stay: they may run in the same process
 * and have been made when their modules were loaded.
 */
export function forgetOwnMetrics(): void {
  let others: ReadonlySet<string> = new Set();
  const names = (): string[] => metricsRegistry.getMetricsAsArray().map(({ name }) => name);

  beforeAll(() => {
    others = new Set(names());
  });

  afterAll(() => {
    for (const name of names()) if (!others.has(name)) metricsRegistry.removeSingleMetric(name);
    metricsRegistry.setDefaultLabels({});
  });
}
