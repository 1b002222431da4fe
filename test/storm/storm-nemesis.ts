import { setTimeout as delay } from 'node:timers/promises';
import type { CommitMoment, FaultProxy } from '../support/fault-proxy';
import type { Direction } from '../support/link-conditions';
import type { FaultRecord } from './evidence';
import { TABLES_OF, type FaultKind, type PlannedFault } from './fault-plan';
import type { StormHistory } from './history';
import type { ProcessName, ServerName, UpstreamName } from './parts';
import type { StormInstallation } from './storm-installation';
import type { Mood } from './storm-upstream';

type Deed = (fault: PlannedFault) => Promise<string>;

const MOODS: Readonly<Partial<Record<FaultKind, Mood>>> = {
  'upstream-unavailable': 'unavailable',
  'upstream-gone': 'resets',
  'upstream-rate-limited': 'rate-limited',
  'upstream-slow': 'slow',
  'upstream-malformed': 'malformed',
  'upstream-resets': 'resets',
};

const STALLED: readonly (readonly Direction[])[] = [['up'], ['down'], ['up', 'down']];

/** Brings planned faults about, and ends them. */
export class StormNemesis {
  readonly #running = new Set<Promise<void>>();
  readonly #struck = new Set<string>();

  constructor(
    private readonly installation: StormInstallation,
    private readonly history: StormHistory,
  ) {}

  /** Follows the plan from now on. Resolves when the last fault has ended and everything is healed. */
  async follow(plan: readonly PlannedFault[], lengthMs: number): Promise<void> {
    const startedAt = performance.now();
    for (const fault of plan) {
      await delay(Math.max(0, startedAt + fault.atMs - performance.now()));
      const running: Promise<void> = this.#strike(fault).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    await delay(Math.max(0, startedAt + lengthMs - performance.now()));
    await Promise.all(this.#running);
    this.installation.links.healAll();
    await this.installation.conflicts.endAll();
  }

  async #strike(fault: PlannedFault): Promise<void> {
    const { index, kind, target } = fault;
    // A restart may take longer than the plan thought.
    if (this.#struck.has(target)) return this.history.note('fault-skipped', fault);
    this.#struck.add(target);
    const head = { index, kind, target, startMs: Date.now() };
    this.history.note('fault-begins', fault);
    let note: string;
    try {
      note = await this.#deedOf(kind)(fault);
    } catch (error) {
      note = `failed: ${(error as Error).message}`;
    }
    this.#struck.delete(target);
    this.history.addFault({ ...head, endMs: Date.now(), note } satisfies FaultRecord);
  }

  #deedOf(kind: FaultKind): Deed {
    const mood = MOODS[kind];
    if (mood !== undefined) return (fault) => this.#upset(fault, mood);
    const [, verb, server] = /^(kill|freeze|restart)-(postgres|rabbitmq|redis)$/.exec(kind) ?? [];
    if (server !== undefined) return (fault) => this.#disturbServer(fault, verb!, server as ServerName);
    const deed = (this.#deeds as Readonly<Partial<Record<FaultKind, Deed>>>)[kind];
    if (deed === undefined) throw new Error(`there is no deed for ${kind}`);
    return deed;
  }

  readonly #deeds = {
    'cut-all': async ({ target, draws }: PlannedFault) => {
      const how = draws[0] < 0.5 ? 'rst' : 'fin';
      this.#link(target).cutAll(how);
      return how;
    },
    'cut-one': async ({ target, draws }: PlannedFault) => {
      const how = draws[0] < 0.5 ? 'rst' : 'fin';
      this.#link(target).cutOne(how, draws[1]);
      return how;
    },
    refuse: (fault: PlannedFault) => this.#impair(fault, (link) => link.refuse(), 'all connections'),
    delay: (fault: PlannedFault) => {
      const delayMs = 20 + Math.floor(fault.draws[0] * 600);
      return this.#impair(fault, (link) => link.impair({ delayMs }), `${delayMs} ms`);
    },
    bandwidth: (fault: PlannedFault) => {
      const bytesPerSecond = 2_000 + Math.floor(fault.draws[0] * 80_000);
      return this.#impair(fault, (link) => link.impair({ bytesPerSecond }), `${bytesPerSecond} B/s`);
    },
    stall: (fault: PlannedFault) => {
      const stalled = STALLED[Math.floor(fault.draws[0] * STALLED.length)]!;
      return this.#impair(fault, (link) => link.impair({ stalled }), stalled.join(' and '));
    },
    slice: (fault: PlannedFault) => {
      const sliceBytes = 1 + Math.floor(fault.draws[0] * 200);
      return this.#impair(fault, (link) => link.impair({ sliceBytes }), `${sliceBytes} bytes`);
    },
    'commit-lost-before': (fault: PlannedFault) => this.#loseCommits(fault, 'before'),
    'commit-lost-after': (fault: PlannedFault) => this.#loseCommits(fault, 'after'),
    'commit-then-gone': (fault: PlannedFault) => this.#loseCommits(fault, 'answered'),
    conflicts: async ({ target, durationMs, draws }: PlannedFault) => {
      const share = 0.02 + draws[0] * 0.15;
      await this.installation.conflicts.begin(target.slice('table '.length), share);
      await delay(durationMs);
      await this.installation.conflicts.end(target.slice('table '.length));
      return `${Math.round(share * 100)} % of statements`;
    },
    isolate: async ({ target, durationMs }: PlannedFault) => {
      const links = this.installation.links.ofProcess(target as ProcessName);
      for (const link of links) link.refuse();
      await delay(durationMs);
      for (const link of links) link.heal();
      return `${links.length} links`;
    },
    'kill-app': async ({ target }: PlannedFault) => {
      await this.installation.processes.end(target as ProcessName, 'SIGKILL');
      return 'SIGKILL';
    },
    'stop-app': async ({ target }: PlannedFault) => {
      await this.installation.processes.end(target as ProcessName, 'SIGTERM');
      return 'SIGTERM';
    },
    'freeze-app': async ({ target, durationMs }: PlannedFault) => {
      const thaw = await this.installation.processes.freeze(target as ProcessName);
      await delay(durationMs);
      thaw();
      return 'SIGSTOP';
    },
  } as const satisfies Partial<Record<FaultKind, Deed>>;

  #link(target: string): FaultProxy {
    return this.installation.links.get(target);
  }

  async #impair({ target, durationMs, draws }: PlannedFault, how: (link: FaultProxy) => void, note: string) {
    const link = this.#link(target);
    how(link);
    await delay(durationMs);
    const cutsHeld = draws[1] < 0.5;
    link.heal(cutsHeld);
    return `${note}${cutsHeld ? ', cut at its end' : ''}`;
  }

  async #loseCommits({ target, durationMs, draws }: PlannedFault, when: CommitMoment): Promise<string> {
    const link = this.#link(target);
    const before = link.commitCuts[when];
    const kinds = draws[0] < 0.6 ? (['commit'] as const) : (['commit', 'write'] as const);
    const tables = TABLES_OF[target.split('>')[0] as ProcessName];
    const mentioning = draws[2] < 0.2 ? '' : tables[Math.floor(((draws[2] - 0.2) / 0.8) * tables.length)]!;
    link.cutAtCommit({ when, kinds, mentioning }, when === 'answered' ? 1 : 1 + Math.floor(draws[1] * 4));
    await delay(durationMs);
    link.heal();
    return `${link.commitCuts[when] - before} of ${kinds.join(' and ')} of ${mentioning || 'any table'}`;
  }

  async #upset({ target, durationMs }: PlannedFault, mood: Mood): Promise<string> {
    this.installation.upstream.setMood(target as UpstreamName, mood);
    await delay(durationMs);
    this.installation.upstream.setMood(target as UpstreamName, 'well');
    return mood;
  }

  async #disturbServer({ durationMs }: PlannedFault, verb: string, server: ServerName): Promise<string> {
    const { servers } = this.installation;
    if (verb === 'restart') {
      await servers.restart(server);
      return 'stopped and started';
    }
    if (verb === 'freeze') {
      const thaw = servers.freeze(server);
      await delay(durationMs);
      thaw();
      return 'SIGSTOP';
    }
    await servers.kill9(server);
    await delay(durationMs);
    await servers.restart(server);
    return 'SIGKILL';
  }
}
