import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failpoint } from '@libs/failpoints';
import { eventually } from './eventually';
import type { AppName, Installation } from './installation';

const DEATH_MS = 60_000;
/** Leases that a dead app leaves behind, by the app. Nobody else holds any of its kind. */
const LEASES: Readonly<Partial<Record<AppName, readonly string[]>>> = {
  'batch-worker': [
    `UPDATE batch_segments SET available_at = now() WHERE available_at > now()`,
    `UPDATE batches SET lease_until = now() WHERE lease_until > now() AND status <> 'receiving'`,
  ],
  'video-worker': ['videos', 'webhook_deliveries'].map(
    (table) => `UPDATE ${table} SET lease_until = now() WHERE lease_until > now()`,
  ),
};

/** The environment of an app that kills itself at a failpoint, given as `NAME:kill9@PASS`. */
export function dyingAt(failpoint: string): Readonly<Record<string, string>> {
  return { FAILPOINT: failpoint, NODE_OPTIONS: `--require=${join(__dirname, 'die-at-failpoint.cjs')}` };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Returns the answer. @throws Error if it is an error */
export function accepted<T extends Answer>(answer: T): T {
  if (answer.status >= 400) throw new Error(`answered with ${answer.status}: ${answer.text}`);
  return answer;
}

export interface Death {
  readonly point: Failpoint;
  /** At which pass, counted from the last start. */
  readonly pass: number;
  /**
   * Brings the app there, unless what the last death left undone does so first. It fails without an answer, as that may
   * die with the app, and with an error as answer; then it is tried again as long as the app lives.
   */
  readonly load: () => Promise<unknown>;
}

/** Lets apps die at their failpoints, one death after another, and counts where they did. */
export class FailpointDeaths {
  readonly hits = new Map<Failpoint, number>();
  /** Why the last try failed to bring an app to its death. */
  #lastFailure: unknown;

  constructor(private readonly installation: Installation) {}

  /**
   * Starts the app anew and has it die these deaths in their order. After each its leases are over, as if half a
   * minute had passed, and it comes back to meet the next. At the end it lives, without a failpoint.
   */
  async die(app: AppName, deaths: readonly Death[], environment: Readonly<Record<string, string>> = {}): Promise<void> {
    const doomed = deaths.map(({ point, pass }) => ({ ...environment, ...dyingAt(`${point}:kill9@${pass}`) }));
    await this.installation.stopApp(app);
    await this.installation.startApp(app, app, [...doomed, environment]);
    for (const [index, { load }] of deaths.entries()) {
      this.#lastFailure = 'none';
      await Promise.all([this.#death(app, index + 1), this.#bring(app, index + 1, load)]);
      await this.installation.untilReady();
    }
    expect(this.#wordsOf(app)).toEqual(
      deaths.map(({ point, pass }) => `Killed at the failpoint ${point}, pass ${pass}`),
    );
    for (const { point } of deaths) this.hits.set(point, (this.hits.get(point) ?? 0) + 1);
  }

  #hasDied(app: AppName, count: number): boolean {
    return this.installation.deathsOf(app) >= count;
  }

  /** A connection that died with the app before this one fails the first try. */
  async #bring(app: AppName, count: number, load: () => Promise<unknown>): Promise<void> {
    await eventually(`${app} is brought to its death`, DEATH_MS, async () => {
      if (this.#hasDied(app, count)) return true;
      return load().then(
        () => true,
        (failure: unknown) => void (this.#lastFailure = failure),
      );
    });
  }

  async #death(app: AppName, count: number): Promise<void> {
    const what = `${app} dies for the ${count}. time`;
    await eventually(what, DEATH_MS, () => this.#hasDied(app, count) || undefined).catch((error: Error) => {
      throw new Error(`${error.message}; the last failure: ${String(this.#lastFailure)}`);
    });
    for (const sql of LEASES[app] ?? []) await this.installation.database.execute({ sql });
  }

  /** What the app said when it died; its log begins anew each time it is started by hand. */
  #wordsOf(app: AppName): string[] {
    const log = readFileSync(join(this.installation.folder, `${app}.log`), 'utf8');
    return log.split('\n').filter((line) => line.startsWith('Killed at the failpoint'));
  }
}
