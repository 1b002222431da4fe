import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stateFolder } from '../../scripts/checkout';
import { findAvailable } from './available';
import { readDump } from './dump';
import type { Evidence } from './evidence';
import { planFaults, type FaultKind } from './fault-plan';
import { StormHistory } from './history';
import { VIDEO_SECONDS } from './loads/video-submitter';
import type { LoadTools } from './loads/load';
import { readResults, untilQuiet } from './quiescence';
import { PRICES, VIDEO_SECOND_USD } from './storm-catalogue';
import { findStormViolations } from './storm-checker';
import { StormClient } from './storm-client';
import { StormInstallation } from './storm-installation';
import { makeCalmCalls, stormActors } from './storm-load';
import { StormNemesis } from './storm-nemesis';
import { countsOf, type StormResult } from './storm-report';

/** Load without faults first: pools, caches and heaps are then as they are in use. */
const WARM_UP_MS = 8_000;
/** Within which every process must be ready once the last fault has ended. */
const READY_AGAIN_MS = 60_000;
/** Until breakers and lanes have found out that everything is well again. */
const RECOVERY_MS = 10_000;
/** Until idle connections are closed. */
const IDLE_MS = 12_000;

export interface StormPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly without: ReadonlySet<FaultKind>;
  readonly keep: boolean;
}

type Tell = (what: string) => void;

/** Runs one storm from an empty folder to its verdict. */
export async function runStorm(plan: StormPlan, tell: Tell): Promise<StormResult> {
  const startedAt = performance.now();
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const kept = join(stateFolder, 'storm', `seed-${plan.seed}-${stamp}`);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-storm-'));
  const history = new StormHistory(kept);
  let isSound = false;
  try {
    const { evidence, counts } = await new Storm(plan, folder, history, tell).run();
    const violations = findStormViolations(evidence);
    isSound = violations.length === 0;
    history.keep('violations.json', violations);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { seed: plan.seed, violations, counts, seconds, folder: isSound && !plan.keep ? null : kept };
  } finally {
    await history.close();
    if (isSound && !plan.keep) rmSync(kept, { recursive: true, force: true });
    else keepLogs(folder, kept);
    rmSync(folder, { recursive: true, force: true });
  }
}

function keepLogs(folder: string, kept: string): void {
  const logs = readdirSync(folder).filter((name) => /\.log(\.1)?$/.test(name));
  for (const name of logs) cpSync(join(folder, name), join(kept, name));
  for (const server of ['postgres', 'rabbitmq', 'redis']) {
    cpSync(join(folder, 'servers', server, 'server.log'), join(kept, `${server}.log`), { force: true });
  }
}

class Storm {
  constructor(
    private readonly plan: StormPlan,
    private readonly folder: string,
    private readonly history: StormHistory,
    private readonly tell: Tell,
  ) {}

  async run(): Promise<{ evidence: Evidence; counts: StormResult['counts'] }> {
    const { seed } = this.plan;
    this.tell('starting servers and apps');
    const installation = await StormInstallation.start(this.folder, seed, this.history);
    const client = new StormClient((gateway) => installation.baseUrl(gateway), this.history);
    try {
      return await this.#through(installation, client);
    } finally {
      await client.close();
      await installation.stop();
    }
  }

  async #through(
    installation: StormInstallation,
    client: StormClient,
  ): Promise<{ evidence: Evidence; counts: StormResult['counts'] }> {
    const { history, tell } = this;
    const available = findAvailable(installation.database);
    let isOver = false;
    const tools = toolsOf(this.plan.seed, installation, client, history, () => isOver);
    const running = Promise.all(stormActors(tools).map((actor) => actor.run()));
    await delay(WARM_UP_MS);
    const before = installation.processes.measure();
    const connectionsBefore = await countConnections(installation);
    const lengthMs = this.plan.minutes * 60_000;
    const faults = planFaults(this.plan.seed, lengthMs, this.plan.without);
    tell(`${faults.length} faults in ${this.plan.minutes} minutes`);
    await new StormNemesis(installation, history).follow(faults, lengthMs);
    const healedMs = Date.now();
    tell('every fault is over');
    isOver = true;
    await running;
    const notReady = await installation.processes.missing(READY_AGAIN_MS);
    await delay(RECOVERY_MS);
    history.isCalm = true;
    await makeCalmCalls(tools);
    tell('waiting until nothing is left to do');
    const { unfinished, openCalls } = await untilQuiet(installation, tell);
    await readResults(client, history, tools.apiKey.key);
    await delay(IDLE_MS);
    const brokerUrl = installation.servers.url('rabbitmq');
    const about = { openCalls, leastAvailableUsd: available.stop() };
    const dump = await readDump(installation.database, brokerUrl, history, about);
    const evidence: Evidence = {
      seed: this.plan.seed,
      prices: PRICES,
      videoUsd: videoUsd(),
      healedMs,
      ...pick(history),
      announcements: announcementsOf(installation),
      logFindings: installation.processes.findings(),
      causes: installation.processes.causes(),
      notReady,
      unfinished,
      before,
      connectionsBefore,
      dump,
      upstreamCalls: installation.upstream.calls,
      filmsMade: installation.upstream.filmsMade(),
      after: installation.processes.measure(),
    };
    history.keep('errors.json', Object.fromEntries(installation.processes.errorCounts()));
    return { evidence, counts: countsOf(evidence, installation.links.commitCuts) };
  }
}

function pick(history: StormHistory) {
  const { calls, requests, batchSubmissions, batches, keys, videoSubmissions, videos, faults, deaths } = history;
  return { calls, requests, batchSubmissions, batches, keys, videoSubmissions, videos, faults, deaths };
}

const videoUsd = (): string => String(Number(VIDEO_SECOND_USD) * VIDEO_SECONDS);

function toolsOf(
  seed: number,
  installation: StormInstallation,
  client: StormClient,
  history: StormHistory,
  isOver: () => boolean,
): LoadTools {
  const { apiKey, managementKey, workspaceId } = installation.seed;
  const webhookUrl = installation.receiver.url();
  return {
    seed,
    client,
    history,
    apiKey: { name: 'demo', key: apiKey },
    managementKey,
    workspaceId,
    webhookUrl,
    isOver,
  };
}

async function countConnections({ database }: StormInstallation): Promise<number> {
  const row = await database.firstRow<{ n: number }>({
    sql: `SELECT count(*)::integer AS n FROM pg_stat_activity
          WHERE datname = current_database() AND application_name <> 'storm'`,
  });
  return row?.n ?? 0;
}

/** The webhook ids under which each video was announced, each with the status that it announced. */
function announcementsOf({ receiver }: StormInstallation): Map<string, string[]> {
  const announced = new Map<string, string[]>();
  for (const { headers, text } of receiver.events) {
    const { data } = JSON.parse(text) as { data: { id: string; status: string } };
    const events = announced.get(data.id) ?? [];
    events.push(`${String(headers['webhook-id'])} ${data.status}`);
    announced.set(data.id, events);
  }
  return announced;
}
