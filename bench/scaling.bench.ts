import { join } from 'node:path';
import { root } from '../scripts/checkout';
import { scalerSettings } from './support/scaling/autoscaler';
import { Replay, type Decision, type ReplayReport } from './support/scaling/replay';
import { TRACES } from './support/scaling/traces';
import { rounded } from './support/statistics';

/**
 * Replays arrivals of batches through the decision that batch workers make of how many of them there should be, and the
 * settings that production gives KEDA. As yardsticks: the smallest and the largest number of workers, always.
 */
function shown(report: ReplayReport) {
  return {
    batches: report.batches,
    windows_kept: rounded(report.inWindow, 4),
    in_goal: rounded(report.inGoal, 4),
    worker_hours: rounded(report.workerHours, 1),
    to_the_least_possible: rounded(report.workerHours / report.leastWorkerHours, 3),
    most_workers: report.mostWorkers,
    reversals: report.reversals,
    reaction_seconds: report.reactionSeconds,
  };
}

const settings = scalerSettings(join(root, 'k8s/overlays/prod/workers-keda.yaml'), 'batch-worker');
const decisions: readonly Decision[] = ['forecast', settings.minReplicaCount, settings.maxReplicaCount];
const results = Object.fromEntries(
  Object.entries(TRACES).map(([name, trace]) => [
    name,
    Object.fromEntries(decisions.map((decision) => [decision, shown(new Replay(trace, settings, decision).run())])),
  ]),
);
process.stdout.write(`${JSON.stringify({ bench: 'scaling', results }, null, 2)}\n`);
