import { join } from 'node:path';
import { installPackages, whyNoPackages } from './distribution-packages';
import { startDockerService, whyNoDocker } from './docker-services';
import { hasPrograms, usePrivateInstance } from './private-instances';
import { probe } from './probe';
import { SERVICE_KINDS, SERVICE_NAMES, withoutPassword, type FoundService, type ServiceName } from './service-kinds';

export type Services = Readonly<Record<ServiceName, FoundService>>;

/** The step to begin and end with; `auto` tries them in order. Set by SLUICE_SERVICES. */
const modes = ['auto', 'environment', 'localhost', 'docker', 'private', 'packages'] as const;
type Mode = (typeof modes)[number];

export interface FindOptions {
  /** The checkout. */
  readonly root: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
}

function modeOf(environment: NodeJS.ProcessEnv): Mode {
  const wanted = environment.SLUICE_SERVICES ?? 'auto';
  const mode = modes.find((one) => one === wanted);
  if (mode === undefined) throw new Error(`SLUICE_SERVICES must be one of ${modes.join(', ')}`);
  return mode;
}

/**
 * Finds or starts the three services, each separately: from the environment, on localhost, with Docker, from installed
 * programs as private instances, from the distribution's packages. If one is missing, stops what it has started and
 * ends with one message.
 */
class ServiceSearch {
  readonly #found = new Map<ServiceName, FoundService>();
  readonly #tried = new Map<ServiceName, string[]>(SERVICE_NAMES.map((name) => [name, []]));

  constructor(
    private readonly options: FindOptions,
    private readonly mode: Mode,
  ) {}

  async run(): Promise<Services> {
    try {
      if (this.takes('environment')) await this.fromEnvironment();
      if (this.takes('localhost')) await this.fromLocalhost();
      if (this.takes('docker')) await this.fromDocker();
      if (this.takes('private')) await this.fromPrograms();
      if (this.takes('packages')) await this.fromPackages();
      if (this.missing().length > 0) throw new Error(this.whatIsMissing());
    } catch (error) {
      await stopServices([...this.#found.values()]);
      throw error;
    }
    return Object.fromEntries(this.#found) as unknown as Services;
  }

  private takes(step: Mode): boolean {
    return this.missing().length > 0 && (this.mode === 'auto' || this.mode === step);
  }

  private missing(): ServiceName[] {
    return SERVICE_NAMES.filter((name) => !this.#found.has(name));
  }

  private found(service: FoundService, how: string): void {
    this.#found.set(service.name, service);
    this.options.say(`${SERVICE_KINDS[service.name].title.padEnd(11)}${how}: ${withoutPassword(service.url)}`);
  }

  private note(name: ServiceName, what: string): void {
    this.#tried.get(name)?.push(what);
  }

  /** A URL that the user set is binding: if it cannot be used, nothing else is tried. */
  private async fromEnvironment(): Promise<void> {
    const unusable: string[] = [];
    await Promise.all(
      this.missing().map(async (name) => {
        const { variable } = SERVICE_KINDS[name];
        const url = this.options.environment[variable];
        if (url === undefined || url === '') return;
        const reason = await whyUnusable(name, url);
        if (reason === undefined) this.found({ name, url, source: 'environment' }, `as ${variable} says`);
        else unusable.push(`${variable} is set, but the server it names cannot be used: ${reason}`);
      }),
    );
    if (unusable.length > 0) throw new Error(unusable.join('\n'));
  }

  private async fromLocalhost(): Promise<void> {
    await Promise.all(
      this.missing().map(async (name) => {
        const reasons = new Set<string>();
        for (const url of SERVICE_KINDS[name].defaultUrls) {
          const result = await probe(name, url);
          if (result.ok) return this.found({ name, url, source: 'localhost' }, 'already runs on this machine');
          reasons.add(result.reason);
        }
        const { port } = new URL(SERVICE_KINDS[name].defaultUrls[0] ?? '');
        this.note(name, `localhost:${port} with the default login: ${[...reasons].join('; ')}`);
      }),
    );
  }

  private async fromDocker(): Promise<void> {
    const reason = await whyNoDocker(this.options.root);
    if (reason !== undefined) return this.missing().forEach((name) => this.note(name, `Docker: ${reason}`));
    this.options.say(`Starting ${titles(this.missing())} with docker compose …`);
    // One after the other, because compose locks its project.
    for (const name of this.missing()) {
      await this.attempt(name, 'Docker', 'in a container', () => startDockerService(name, this.options.root));
    }
  }

  private async fromPrograms(): Promise<void> {
    const installed = this.missing().filter(hasPrograms);
    this.missing()
      .filter((name) => !installed.includes(name))
      .forEach((name) => this.note(name, 'installed programs: there is none'));
    if (installed.length === 0) return;
    const folder = join(this.options.root, '.sluice', 'services');
    this.options.say(`Starting ${titles(installed)} as private ${installed.length > 1 ? 'instances' : 'instance'} …`);
    await Promise.all(
      installed.map((name) =>
        this.attempt(name, 'installed programs', 'as a private instance', () => usePrivateInstance(name, folder)),
      ),
    );
  }

  private async fromPackages(): Promise<void> {
    const reason = whyNoPackages();
    if (reason !== undefined) return this.missing().forEach((name) => this.note(name, `packages: ${reason}`));
    const wanted = this.missing().filter((name) => !hasPrograms(name));
    if (wanted.length > 0) {
      this.options.say(
        `Installing ${wanted.map((name) => SERVICE_KINDS[name].debianPackage).join(', ')} with apt-get …`,
      );
      try {
        await installPackages(wanted);
      } catch (error) {
        return wanted.forEach((name) => this.note(name, `packages: ${(error as Error).message}`));
      }
    }
    await this.fromPrograms();
  }

  private async attempt(
    name: ServiceName,
    step: string,
    how: string,
    start: () => Promise<FoundService>,
  ): Promise<void> {
    try {
      this.found(await start(), how);
    } catch (error) {
      this.note(name, `${step}: ${(error as Error).message}`);
    }
  }

  private whatIsMissing(): string {
    const lines = this.missing().flatMap((name) => [
      `${SERVICE_KINDS[name].title} is missing. Tried:`,
      ...(this.#tried.get(name) ?? []).map((what) => `  - ${what}`),
    ]);
    const variables = this.missing().map((name) => SERVICE_KINDS[name].variable);
    return [
      ...lines,
      `Any one of these helps: set ${variables.join(', ')} to a running server; start Docker;`,
      `install ${this.missing()
        .map((name) => SERVICE_KINDS[name].debianPackage)
        .join(', ')} and run this again.`,
    ].join('\n');
  }
}

const titles = (names: readonly ServiceName[]): string => names.map((name) => SERVICE_KINDS[name].title).join(', ');

/** A database that does not exist yet is no reason: it is created later. */
async function whyUnusable(name: ServiceName, url: string): Promise<string | undefined> {
  if (!URL.canParse(url)) return 'it is not a URL';
  const result = await probe(name, name === 'postgres' ? withPath(url, '/postgres') : url);
  if (result.ok) return undefined;
  const asGiven = name === 'postgres' ? await probe(name, url) : result;
  return asGiven.ok ? undefined : asGiven.reason;
}

/** Returns `url` with another path: another database of the same server, or another virtual host. */
export function withPath(url: string, path: string): string {
  const changed = new URL(url);
  changed.pathname = path;
  return changed.href;
}

export function findServices(options: FindOptions): Promise<Services> {
  return new ServiceSearch(options, modeOf(options.environment)).run();
}

/** Stops only what was started by this process. */
export async function stopServices(services: Iterable<FoundService>): Promise<void> {
  await Promise.all(
    [...services].map(async (service) => {
      await service.stop?.();
    }),
  );
}

/** The three variables that every process of Sluice reads. */
export function serviceEnvironment(services: Services): Record<'DATABASE_URL' | 'AMQP_URL' | 'REDIS_URL', string> {
  return { DATABASE_URL: services.postgres.url, AMQP_URL: services.rabbitmq.url, REDIS_URL: services.redis.url };
}
