import type { DeathRecord, Evidence } from '../evidence';
import { PROCESS_NAMES, type ProcessName } from '../parts';
import { wasDuring, type Check, type StormViolation } from './violation';

/** An app that starts while what it needs is away says so and exits; the supervisor starts it again. */
const BOOT_FAILED = /Boot failed/;
/** How long ago a fault may have ended for a boot to fail by it. */
const BOOT_MS = 20_000;
const MOST_GROWTH = { factor: 1.6, mib: 160, files: 50, connections: 15 };

function isExplained(evidence: Evidence, { injected, how, wasBooting, atMs }: DeathRecord): boolean {
  if (injected === 'SIGKILL') return how.includes('SIGKILL');
  if (wasBooting) return wasDuring(evidence, atMs - BOOT_MS, atMs, 0);
  return injected === 'SIGTERM' && how === 'exited with code 0';
}

export const deaths: Check = (evidence) =>
  evidence.deaths
    .filter((death) => !isExplained(evidence, death))
    .map(({ process, how, injected, wasBooting }) => ({
      promise: 'no process ends by itself',
      what: `${process} ${how}${injected === null ? '' : `, told by ${injected}`}${wasBooting ? ', while booting' : ''}`,
    }));

export const uncaughtErrors: Check = ({ logFindings }) =>
  logFindings
    .filter(({ line }) => !BOOT_FAILED.test(line))
    .map(({ process, line }) => ({ promise: 'no error is uncaught', what: `${process}: ${line}` }));

export const recovery: Check = ({ notReady, unfinished }) => [
  ...notReady.map((name): StormViolation => ({ promise: 'processes come back', what: `${name} is not ready` })),
  ...unfinished.map((what): StormViolation => ({ promise: 'the work comes to an end', what })),
];

export const resources: Check = ({ before, after, connectionsBefore, dump }) => {
  const grown = PROCESS_NAMES.flatMap((name) => growthOf(name, before, after));
  if (dump.connections > connectionsBefore + MOST_GROWTH.connections) {
    grown.push(`${connectionsBefore} connections to PostgreSQL before, ${dump.connections} after`);
  }
  return grown.map((what) => ({ promise: 'memory and connections come back', what }));
};

function growthOf(name: ProcessName, before: Evidence['before'], after: Evidence['after']): string[] {
  const [then, now] = [before.get(name), after.get(name)];
  if (then === undefined || now === undefined) return [];
  const most = Math.max(then.residentMib * MOST_GROWTH.factor, then.residentMib + MOST_GROWTH.mib);
  const grown: string[] = [];
  if (now.residentMib > most) grown.push(`${name}: ${then.residentMib} MiB before, ${now.residentMib} MiB after`);
  if (now.openFiles > then.openFiles + MOST_GROWTH.files) {
    grown.push(`${name}: ${then.openFiles} open files before, ${now.openFiles} after`);
  }
  return grown;
}

export const messages: Check = ({ dump }) => [
  ...Object.entries(dump.queues).map(([queue, count]): StormViolation => ({
    promise: 'no message is left',
    what: `${count} in the queue ${queue}`,
  })),
  ...(dump.outboxRows > 0
    ? [{ promise: 'no message is left' as const, what: `${dump.outboxRows} in the outbox` }]
    : []),
  ...(dump.segments > 0
    ? [{ promise: 'the work comes to an end' as const, what: `${dump.segments} segments were not tidied away` }]
    : []),
];
