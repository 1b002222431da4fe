import { join } from 'node:path';
import { root } from '../scripts/checkout';
import { scalerSettings } from './support/scaling/autoscaler';
import { Replay } from './support/scaling/replay';
import { TRACES } from './support/scaling/traces';

const settings = scalerSettings(join(root, 'k8s/overlays/prod/workers-keda.yaml'), 'batch-worker');

describe('the number of batch workers, with the settings of production', () => {
  it.each(Object.entries(TRACES))('keeps windows at little more than the least of worker-hours: %s', (_name, trace) => {
    const report = new Replay(trace, settings).run();
    expect(report.inWindow).toBeGreaterThanOrEqual(0.99);
    expect(report.workerHours / report.leastWorkerHours).toBeLessThanOrEqual(1.3);
    expect(report.reversals).toBeLessThanOrEqual(1);
  });

  it('wants more workers within a poll of the arrival of a large batch, and the least once it is done', () => {
    const report = new Replay(TRACES['burst']!, settings).run();
    expect(report.reactionSeconds).toBeLessThanOrEqual(settings.pollingInterval);
    expect(report.mostWorkers).toBeGreaterThan(settings.minReplicaCount);
    expect(report.lastWorkers).toBe(settings.minReplicaCount);
  });
});
