import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../services/private-settings';
import { isAlive, markOf, type ProcessMark } from '../services/processes';

/** The content of `.sluice/dev.json` for a running `up`. */
export interface DevelopmentState {
  readonly base_url: string;
  readonly api_key: string;
  readonly management_key: string;
  readonly workspace_id: string;
  readonly pids: Readonly<Record<string, number>>;
}

export type ServiceUrls = Readonly<Record<'DATABASE_URL' | 'AMQP_URL' | 'REDIS_URL', string>>;

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/**
 * The files in `.sluice` by which other commands find a running `up`. They contain keys, so only their owner can read
 * them. They describe one `up`: a second one that runs at the same time does not change them.
 */
export class StateFiles {
  readonly #development: string;
  readonly #services: string;
  readonly #owner: string;
  #isOurs = false;

  constructor(stateFolder: string) {
    this.#development = join(stateFolder, 'dev.json');
    this.#services = join(stateFolder, 'services.json');
    this.#owner = join(stateFolder, 'up.json');
  }

  /** Takes the files over from an `up` that has ended. Answers whether they are ours now. */
  claim(): boolean {
    const owner = readJson<ProcessMark>(this.#owner);
    if (owner !== undefined && isAlive(owner)) return false;
    writeWhole(this.#owner, JSON.stringify(markOf(process.pid)));
    this.#isOurs = true;
    rmSync(this.#development, { force: true });
    return true;
  }

  /** `servicesStay`: the services in services.json keep running afterwards. */
  release(servicesStay: boolean): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    rmSync(this.#development, { force: true });
    if (!servicesStay) rmSync(this.#services, { force: true });
    rmSync(this.#owner, { force: true });
  }

  writeDevelopment(state: DevelopmentState): void {
    if (this.#isOurs) writeWhole(this.#development, `${JSON.stringify(state, null, 2)}\n`);
  }

  writeServices(urls: ServiceUrls): void {
    if (this.#isOurs) writeWhole(this.#services, `${JSON.stringify(urls, null, 2)}\n`);
  }

  readServices(): ServiceUrls | undefined {
    return readJson<ServiceUrls>(this.#services);
  }
}
