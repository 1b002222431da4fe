import {
  GATEWAYS,
  LINKS,
  linkText,
  PROCESS_NAMES,
  UPSTREAMS,
  type Far,
  type LinkName,
  type ProcessName,
} from './parts';
import { Random } from './random';

/** Kinds of faults and how often each is drawn, relative to the others. */
const WEIGHTS = {
  'cut-all': 6,
  'cut-one': 6,
  refuse: 5,
  delay: 5,
  bandwidth: 3,
  stall: 6,
  slice: 3,
  'commit-lost-before': 5,
  'commit-lost-after': 12,
  'commit-then-gone': 6,
  conflicts: 4,
  isolate: 4,
  'kill-app': 7,
  'freeze-app': 6,
  'stop-app': 3,
  'kill-postgres': 2,
  'freeze-postgres': 2,
  'restart-postgres': 2,
  'kill-rabbitmq': 1,
  'freeze-rabbitmq': 2,
  'restart-rabbitmq': 1,
  'kill-redis': 2,
  'freeze-redis': 2,
  'restart-redis': 1,
  'upstream-unavailable': 5,
  'upstream-gone': 2,
  'upstream-rate-limited': 4,
  'upstream-slow': 3,
  'upstream-malformed': 3,
  'upstream-resets': 3,
} as const;

export type FaultKind = keyof typeof WEIGHTS;
export const FAULT_KINDS = Object.keys(WEIGHTS) as FaultKind[];

/** A fault before it happens: everything about it is drawn from the seed. */
export interface PlannedFault {
  readonly index: number;
  readonly kind: FaultKind;
  /** From the start of the faults. */
  readonly atMs: number;
  /** How long it lasts; 0 for those that are over at once. */
  readonly durationMs: number;
  /** The link, process, server or upstream it strikes: `gateway-1>postgres`, `auth`, `redis`, `calls`. */
  readonly target: string;
  /** Numbers that say how: their meaning depends on the kind. From 0 to below 1. */
  readonly draws: readonly [number, number, number];
}

const GAP_MS = { least: 250, most: 1_800 };
/** A target that has just been struck is left alone for so long, so that it also works in between. */
const REST_MS = 700;
const SERVER_REST_MS = 8_000;

type Place = 'link' | 'process' | 'postgres-link' | 'server' | 'upstream' | 'table';

const PLACES: Readonly<Partial<Record<FaultKind, Place>>> = {
  'commit-lost-before': 'postgres-link',
  'commit-lost-after': 'postgres-link',
  'commit-then-gone': 'postgres-link',
  conflicts: 'table',
  isolate: 'process',
  'kill-app': 'process',
  'freeze-app': 'process',
  'stop-app': 'process',
};

const DURATIONS_MS: Readonly<Partial<Record<FaultKind, readonly [number, number]>>> = {
  refuse: [300, 4_000],
  delay: [1_000, 5_000],
  bandwidth: [1_000, 4_000],
  stall: [500, 8_000],
  slice: [1_000, 4_000],
  'commit-lost-before': [500, 3_000],
  'commit-lost-after': [500, 3_000],
  'commit-then-gone': [1_000, 4_000],
  conflicts: [1_000, 6_000],
  isolate: [500, 6_000],
  'freeze-app': [300, 10_000],
  'kill-postgres': [100, 3_000],
  'freeze-postgres': [300, 6_000],
  'kill-rabbitmq': [100, 2_000],
  'freeze-rabbitmq': [300, 6_000],
  'kill-redis': [100, 3_000],
  'freeze-redis': [300, 6_000],
  'upstream-unavailable': [500, 6_000],
  // Longer than any number of quick retries takes.
  'upstream-gone': [30_000, 60_000],
  'upstream-rate-limited': [500, 4_000],
  'upstream-slow': [500, 4_000],
  'upstream-malformed': [500, 3_000],
  'upstream-resets': [500, 4_000],
};

/** Tables whose transactions faults can single out. */
export const TABLES = [
  'outbox',
  'batches',
  'batch_segments',
  'batch_results',
  'ledger_accounts',
  'ledger_holds',
  'generations',
  'videos',
  'webhook_deliveries',
  'native_batches',
  'api_keys',
  'credentials',
] as const;

/** Of the transactions of each app those in which most can go wrong. */
export const TABLES_OF: Readonly<Record<ProcessName, readonly (typeof TABLES)[number][]>> = {
  auth: ['api_keys'],
  credentials: ['credentials'],
  'gateway-1': ['outbox', 'outbox', 'batches', 'generations', 'videos'],
  'gateway-2': ['outbox', 'outbox', 'batches', 'generations', 'videos'],
  'batch-worker-1': ['batches', 'batch_results', 'batch_segments', 'native_batches', 'ledger_holds'],
  'batch-worker-2': ['batches', 'batch_results', 'batch_segments', 'native_batches', 'ledger_holds'],
  'video-worker': ['videos', 'webhook_deliveries', 'outbox'],
};

function placeOf(kind: FaultKind): Place {
  if (kind.startsWith('upstream-')) return 'upstream';
  if (/-(postgres|rabbitmq|redis)$/.test(kind)) return 'server';
  return PLACES[kind] ?? 'link';
}

/** Gateways and workers do most of the work, so they are struck more often. */
const PROCESS_WEIGHTS: Readonly<Record<ProcessName, number>> = {
  auth: 1,
  credentials: 1,
  'gateway-1': 2,
  'gateway-2': 2,
  'batch-worker-1': 3,
  'batch-worker-2': 3,
  'video-worker': 1,
};

function drawLink(random: Random, fars?: readonly Far[]): LinkName {
  const process = random.weighted(PROCESS_WEIGHTS);
  return random.pick(LINKS.filter((link) => link.process === process && (fars?.includes(link.far) ?? true)));
}

function drawTarget(random: Random, kind: FaultKind): string {
  switch (placeOf(kind)) {
    case 'link':
      return linkText(drawLink(random));
    case 'postgres-link':
      return linkText(drawLink(random, ['postgres']));
    case 'process':
      return random.weighted(PROCESS_WEIGHTS);
    case 'server':
      return kind.slice(kind.lastIndexOf('-') + 1);
    case 'table':
      return `table ${random.pick(TABLES)}`;
    case 'upstream':
      return random.pick(UPSTREAMS);
  }
}

/** The faults of a storm of `minutes`, drawn by the seed alone. No target is struck twice at the same time. */
export function planFaults(seed: number, lengthMs: number, without: ReadonlySet<FaultKind>): PlannedFault[] {
  const random = Random.for(seed, 'faults');
  const kinds = Object.fromEntries(Object.entries(WEIGHTS).filter(([kind]) => !without.has(kind as FaultKind)));
  if (Object.keys(kinds).length === 0) return [];
  const busyUntil = new Map<string, number>();
  const planned: PlannedFault[] = [];
  for (let atMs = 0; ;) {
    atMs += random.int(GAP_MS.least, GAP_MS.most);
    if (atMs >= lengthMs) return planned;
    const kind = random.weighted<FaultKind>(kinds);
    const target = drawTarget(random, kind);
    const [least, most] = DURATIONS_MS[kind] ?? [0, 0];
    const durationMs = Math.min(random.int(least, most), lengthMs - atMs);
    const draws = [random.next(), random.next(), random.next()] as const;
    if ((busyUntil.get(busyName(target)) ?? 0) > atMs) continue;
    const restMs = placeOf(kind) === 'server' ? SERVER_REST_MS : REST_MS;
    busyUntil.set(busyName(target), atMs + durationMs + restMs);
    planned.push({ index: planned.length, kind, atMs, durationMs, target, draws });
  }
}

/** A process and its links are one place: a fault of the one would undo the end of a fault of the other. */
function busyName(target: string): string {
  return target.split('>')[0]!;
}

/** Whether a fault can keep a gateway or worker from learning that a key was revoked. */
export function hindersQuestions({ kind, target }: Pick<PlannedFault, 'kind' | 'target'>): boolean {
  if (kind.startsWith('upstream-') || target === 'redis' || kind.endsWith('-redis')) return false;
  if (target.startsWith('table ')) return target === 'table api_keys';
  const [process, far] = target.split('>');
  if (far !== undefined) return far === 'rabbitmq' || (process === 'auth' && far === 'postgres');
  const asks = [...GATEWAYS, 'auth', 'postgres', 'rabbitmq'];
  return asks.includes(process!) || !PROCESS_NAMES.includes(process as ProcessName);
}
