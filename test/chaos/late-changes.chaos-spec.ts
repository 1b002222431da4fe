import type { Session } from '@libs/persistence';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation, type AppName } from '../support/installation';

/**
 * The owner of a change is stopped (SIGSTOP, as when a host swaps, a container is frozen or a virtual machine moves)
 * until the caller has got a timeout and what the change is of has been revoked. When the owner goes on, the old change
 * must not be done after the new one.
 */
const BOOT_TIMEOUT_MS = 240_000;
const SOON_MS = 60_000;
const NEVER_CALLED = {
  slug: 'late/none',
  provider: 'late',
  baseUrl: 'http://127.0.0.1:9/v1',
  pricing: { prompt: '0', completion: '0' },
};

interface Changed {
  readonly path: string;
  readonly id: string;
}

/** What can be revoked: who owns it, how a caller makes one, and the change that must not come late. */
interface Revocable {
  readonly owner: AppName;
  readonly contract: string;
  readonly table: string;
  readonly key: string;
  readonly make: () => Promise<Changed>;
  readonly restore: Readonly<Record<string, boolean>>;
  /** What another process of the owner would do for the caller's next request. */
  readonly revoke: string;
  readonly isRevoked: string;
}

let installation: Installation;
let manager: ApiClient;

beforeAll(async () => {
  installation = await Installation.start({
    apps: ['auth', 'credentials', 'gateway'],
    catalogue: catalogueOf([NEVER_CALLED]),
  });
  manager = installation.client(installation.seed.managementKey);
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
}, BOOT_TIMEOUT_MS);

async function made(path: string, body: object): Promise<Readonly<Record<string, string>>> {
  const answer = await manager.request<{ data: Record<string, string> }>('POST', path, body);
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
  return answer.body.data;
}

const key: Revocable = {
  owner: 'auth',
  contract: 'auth.update-key',
  table: 'api_keys',
  key: 'hash',
  make: async () => {
    const { hash = '' } = await made('/keys', { name: 'short' });
    return { path: `/keys/${hash}`, id: hash };
  },
  restore: { disabled: false },
  revoke: 'disabled = true',
  isRevoked: 'disabled',
};

const credential: Revocable = {
  owner: 'credentials',
  contract: 'credentials.update-credential',
  table: 'credentials',
  key: 'id',
  make: async () => {
    const { id = '' } = await made('/byok', { key: 'csk-a-key-of-the-caller', provider: 'cerebras' });
    return { path: `/byok/${id}`, id };
  },
  restore: { disabled: false },
  revoke: 'disabled = true',
  isRevoked: 'disabled',
};

const policy: Revocable = {
  owner: 'auth',
  contract: 'auth.update-policy',
  table: 'federation_policies',
  key: 'id',
  make: async () => {
    const name = `late ${performance.now()}`;
    const issuer = await made('/workload-identity/issuers', {
      name,
      issuer_url: `https://${performance.now()}.example`,
    });
    const { hash } = await made('/keys', { name });
    const { id = '' } = await made('/workload-identity/policies', {
      issuer_id: issuer['id'],
      name,
      subject: 'workload',
      audience: 'sluice',
      api_key_hash: hash,
    });
    return { path: `/workload-identity/policies/${id}`, id };
  },
  restore: { enabled: true },
  revoke: 'enabled = false',
  isRevoked: 'NOT enabled',
};

/** Where the owner stops: PostgreSQL lets it go no further than to a lock that the test holds. */
type Step = readonly [where: string, lock: ((of: Revocable) => string) | null];

const STEPS: readonly Step[] = [
  ['before it reads the question', null],
  ['while it claims the question', () => 'LOCK TABLE used_token_ids IN SHARE MODE'],
  [
    'while it does the change',
    ({ table, key: column }) => `SELECT FROM ${table} WHERE ${column}::text = $1 FOR UPDATE`,
  ],
];

/** Questions of a contract that the owner has answered, and those that it has refused. */
async function finished({ owner, contract }: Revocable): Promise<number> {
  const text = await (await fetch(`${installation.healthUrlOf(owner)}/metrics`)).text();
  const counts = text.split('\n').filter((line) => {
    const isAnswer = line.startsWith('sluice_answer_seconds_count{') && line.includes(`contract="${contract}"`);
    return isAnswer || (line.startsWith('sluice_messages_refused_total{') && line.includes('kind="question"'));
  });
  return counts.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

async function untilOwnerWaits(session: Session): Promise<void> {
  await eventually('the owner waits for the lock', SOON_MS, async () => {
    const waiting = await session.firstRow({
      sql: `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`,
    });
    return waiting === null ? undefined : true;
  });
}

/** Asks for the change, and stops its owner on the way. Resolves with the caller's answer. */
async function changeWhileStopped(of: Revocable, { path, id }: Changed, lock: Step[1]): Promise<number> {
  const pid = installation.pidOf(of.owner);
  const ask = async (): Promise<number> => (await manager.request('PATCH', path, of.restore)).status;
  if (lock === null) {
    process.kill(pid, 'SIGSTOP');
    return ask();
  }
  const asked = await installation.database.transaction(async (session) => {
    const sql = lock(of);
    await session.execute({ sql, values: sql.includes('$1') ? [id] : [] });
    const answer = ask();
    await untilOwnerWaits(session);
    process.kill(pid, 'SIGSTOP');
    return { answer };
  });
  return asked.answer;
}

describe.each([
  ['a key', key],
  ['a credential', credential],
  ['a policy', policy],
])('%s that was revoked', (_, of) => {
  it.each(STEPS)(
    'stays revoked when an older change is done late, its owner having stopped %s',
    async (_where, lock) => {
      const changed = await of.make();
      const before = await finished(of);
      const pid = installation.pidOf(of.owner);
      try {
        expect(await changeWhileStopped(of, changed, lock)).toBe(504);
        // A row that the owner has locked is free when PostgreSQL ends the owner's session.
        await eventually('it is revoked', SOON_MS, () =>
          installation.database
            .execute({ sql: `UPDATE ${of.table} SET ${of.revoke} WHERE ${of.key}::text = $1`, values: [changed.id] })
            .then(
              (rows) => (rows === 1 ? true : undefined),
              () => undefined,
            ),
        );
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await eventually('the owner is done with the change', SOON_MS, async () =>
        (await finished(of)) > before ? true : undefined,
      );
      const isRevoked = {
        sql: `SELECT FROM ${of.table} WHERE ${of.key}::text = $1 AND ${of.isRevoked}`,
        values: [changed.id],
      };
      expect(await installation.database.firstRow(isRevoked)).not.toBeNull();
      await installation.untilReady();
      // Its connections may have ended while it was stopped. Until it has seen that, callers get a 503 and ask again.
      await eventually('a new change is done', SOON_MS, async () => {
        const { status } = await manager.request('PATCH', changed.path, of.restore);
        if (status === 503) return undefined;
        expect(status).toBe(200);
        return true;
      });
    },
    180_000,
  );
});
