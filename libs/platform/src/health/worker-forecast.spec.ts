import { metricsRegistry } from '../telemetry/metrics';
import { HealthRoutes } from './health-routes';
import { WorkerForecast, type WorkersWanted } from './worker-forecast';

describe(WorkerForecast, () => {
  const routes = new HealthRoutes();
  let nowMs = 0;
  let count: () => Promise<WorkersWanted>;
  class Forecast extends WorkerForecast {
    protected count(): Promise<WorkersWanted> {
      return count();
    }
  }
  const forecast = new Forecast(routes, () => nowMs);
  const ask = (): object => routes.find('/scaling')!();

  it('says nothing before the work was counted', async () => {
    count = () => Promise.reject(new Error('away'));
    await forecast.refresh();
    expect(await metricsRegistry.getSingleMetricAsString('sluice_workers_wanted')).not.toMatch(
      /^sluice_workers_wanted/m,
    );
    expect(ask).toThrow('The open work has not been counted within the last minute');
  });

  it('says how many workers the work needs, and why', async () => {
    count = async () => ({ workers: 7, because: { open_lines: 900 } });
    await forecast.refresh();
    expect(ask()).toEqual({ workers_wanted: 7, open_lines: 900 });
    expect(await metricsRegistry.getSingleMetricAsString('sluice_workers_wanted')).toContain('sluice_workers_wanted 7');
  });

  it('keeps its answer for a minute while PostgreSQL is away, and no longer', async () => {
    count = () => Promise.reject(new Error('away'));
    nowMs = 59_000;
    await forecast.refresh();
    expect(ask()).toEqual({ workers_wanted: 7, open_lines: 900 });
    nowMs = 61_000;
    expect(ask).toThrow(expect.objectContaining({ code: 'unavailable' }));
    await forecast.refresh();
    expect(await metricsRegistry.getSingleMetricAsString('sluice_workers_wanted')).not.toMatch(
      /^sluice_workers_wanted/m,
    );
  });
});
