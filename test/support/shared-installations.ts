import { eventually } from './eventually';
import { Installation, type InstallationOptions } from './installation';
import { appsOf } from './installation-parts';

/** Options with which an installation can serve one spec after the other. */
export type SharedOptions = Omit<InstallationOptions, 'between' | 'ownBroker'>;

const QUIET_WITHIN_MS = 3_000;

/** Settings of all shared installations, so that more specs have the same. */
const SHARED_ENVIRONMENT = {
  BATCH_CREDIT_GRACE_SECONDS: '1',
  BATCH_READS_PER_MINUTE: '100000',
  BATCH_SUBMISSIONS_PER_MINUTE: '100000',
  LEFTOVER_READ_MS: '300',
  VIDEO_SUBMISSIONS_PER_MINUTE: '100000',
};

const keys = new WeakMap<Installation, string>();
const idle = new Map<Installation, string>();
let isSuiteOver = false;

/**
 * Returns an installation for a spec that restarts no app and reads neither its metrics nor whole tables or logs. It may
 * have served earlier spec files of this suite (`jest.shares.config.cjs`): its catalogue, its demo workspace and what is
 * in Redis are new, but its database is not empty, and it may run all apps. No two specs use one at the same time. End
 * it with `giveBack`.
 */
export async function shareInstallation(options: SharedOptions): Promise<Installation> {
  const settings = {
    environment: { ...SHARED_ENVIRONMENT, ...options.environment },
    environmentOf: options.environmentOf,
  };
  const key = JSON.stringify(settings);
  const found = [...idle].find(([, other]) => other === key)?.[0];
  if (found !== undefined) {
    idle.delete(found);
    try {
      await found.reuse(appsOf(options), options.catalogue);
    } catch (error) {
      await found.stop();
      throw error;
    }
    return found;
  }
  const started = await Installation.start({ ...options, ...settings });
  keys.set(started, key);
  return started;
}

/**
 * Leaves a shared installation to the next spec as soon as no call, batch or video is under way. Ends it if an app died or
 * differs from how it was started, or if something stays under way.
 */
export async function giveBack(installation: Installation | undefined): Promise<void> {
  if (installation === undefined) return;
  const key = isSuiteOver ? undefined : keys.get(installation);
  if (key !== undefined && installation.isIntact && (await becomesQuiet(installation))) idle.set(installation, key);
  else await installation.stop();
}

async function becomesQuiet({ database }: Installation): Promise<boolean> {
  const sql = `SELECT FROM ledger_holds WHERE state = 'open' UNION ALL SELECT FROM generations WHERE state = 'open'`;
  const ask = async (): Promise<true | undefined> => ((await database.rows({ sql })).length === 0 ? true : undefined);
  return eventually('nothing is under way', QUIET_WITHIN_MS, ask).catch(() => false);
}

/** Ends all that were given back. What is given back later ends then: hooks at the top of a spec come after this one. */
export async function endSharedInstallations(): Promise<void> {
  isSuiteOver = true;
  const all = [...idle.keys()];
  idle.clear();
  await Promise.all(all.map((installation) => installation.stop()));
}
