import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { migrate } from '../migrate';
import { createTestDatabase, storePropertiedTenant, type PropertiedTenant, type TestDatabase } from '../testing';
import { TENANT_ROLE } from '../tenants/tenant';
import { ensureTenantRole } from './1763900000071-tenant-rows';

const PASSWORD = 'of-a-test';
const COUNT = 'SELECT count(*)::integer AS n FROM batches';
const fresh = (): string => `sluice_test_${randomBytes(6).toString('hex')}`;

let created: TestDatabase;
let owner: Client;
const roles: string[] = [];
const databases: string[] = [];

beforeAll(async () => {
  created = await createTestDatabase();
  owner = new Client({ connectionString: created.url });
  await owner.connect();
});

afterAll(async () => {
  await owner.end();
  await created.drop();
  const server = await connected(process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres');
  for (const name of databases) await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  for (const name of roles) await server.query(`DROP ROLE IF EXISTS ${name}`);
  await server.end();
});

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

function roleName(): string {
  const name = fresh();
  roles.push(name);
  return name;
}

/** A login that may do nothing yet. */
async function newLogin(): Promise<string> {
  const name = roleName();
  await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`);
  return name;
}

function urlOf(login: string, database?: string): string {
  const url = new URL(created.url);
  [url.username, url.password] = [login, PASSWORD];
  if (database !== undefined) url.pathname = `/${database}`;
  return url.href;
}

/** A database that belongs to the login, as an installation has it that does not run as a superuser. */
async function newDatabaseOf(login: string): Promise<string> {
  const name = fresh();
  await owner.query(`CREATE DATABASE ${name} OWNER ${login}`);
  databases.push(name);
  return name;
}

/** Of two tenants who have one batch each: how many a login sees for itself, and how many for one of the tenants. */
async function seenBy(url: string, tenant: PropertiedTenant): Promise<number[]> {
  const dataSource = await createDataSource({ url, poolSize: 1 }).initialize();
  try {
    const database = new Database(dataSource);
    const [all] = await database.rows<{ n: number }>({ sql: COUNT });
    const [own] = await database.asTenant(tenant).rows<{ n: number }>({ sql: COUNT });
    return [all!.n, own!.n];
  } finally {
    await dataSource.destroy();
  }
}

async function storeTwo(url: string): Promise<PropertiedTenant> {
  const dataSource = await createDataSource({ url, poolSize: 1 }).initialize();
  try {
    const database = new Database(dataSource);
    await storePropertiedTenant(database, -1);
    return await storePropertiedTenant(database, -2);
  } finally {
    await dataSource.destroy();
  }
}

describe(ensureTenantRole.name, () => {
  it('makes the role once, in however many databases of the cluster it is asked to at once', async () => {
    const role = roleName();
    const clients = await Promise.all(Array.from({ length: 8 }, () => connected(created.url)));
    try {
      const made = clients.map(async (client) => {
        await client.query('BEGIN');
        await ensureTenantRole(client as unknown as Parameters<typeof ensureTenantRole>[0], role);
        await client.query('COMMIT');
      });
      expect((await Promise.allSettled(made)).filter(({ status }) => status === 'rejected')).toEqual([]);
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
    const { rows } = await owner.query('SELECT rolcanlogin, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = $1', [
      role,
    ]);
    expect(rows).toEqual([{ rolcanlogin: false, rolsuper: false, rolbypassrls: false }]);
  });

  it('lets the logins of two installations act as it, which came at the same time', async () => {
    const role = roleName();
    const logins = [await newLogin(), await newLogin(), await newLogin()];
    for (const login of logins) await owner.query(`ALTER ROLE ${login} CREATEROLE`);
    const clients = await Promise.all(logins.map((login) => connected(urlOf(login))));
    try {
      // From version 16 on only the creator of the role may grant it; the others get an error that says what to run.
      const made = await Promise.allSettled(
        clients.map((client) => ensureTenantRole(client as unknown as Parameters<typeof ensureTenantRole>[0], role)),
      );
      const told = made.filter((one) => one.status === 'rejected').map(({ reason }) => String(reason));
      expect(told.length).toBeLessThan(logins.length);
      for (const message of told) await owner.query(/GRANT [^;]*/.exec(message)![0]);
      for (const client of clients) {
        await client.query(`SET ROLE ${role}`);
        expect((await client.query('SELECT current_user AS who')).rows).toEqual([{ who: role }]);
      }
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
    for (const login of logins) await owner.query(`DROP OWNED BY ${login}`);
  });

  it.each(['LOGIN', 'BYPASSRLS', 'SUPERUSER'])('does not take a role that has %s', async (power) => {
    const role = roleName();
    await owner.query(`CREATE ROLE ${role} ${power}`);
    const ensured = ensureTenantRole(owner as unknown as Parameters<typeof ensureTenantRole>[0], role);
    await expect(ensured).rejects.toThrow('must be NOLOGIN NOSUPERUSER NOBYPASSRLS');
  });
});

describe('an installation whose login is no superuser', () => {
  it('is told what to run when it may not act as the role, and migrates after that', async () => {
    const login = await newLogin();
    const name = await newDatabaseOf(login);
    // TypeORM says it as well, on the console.
    const said = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    await expect(migrate(urlOf(login, name))).rejects.toThrow(
      `${login} may not act as ${TENANT_ROLE}; as a superuser run: CREATE ROLE ${TENANT_ROLE} NOLOGIN; ` +
        `GRANT ${TENANT_ROLE} TO ${login}; then migrate again`,
    );
    said.mockRestore();
    await owner.query(`GRANT ${TENANT_ROLE} TO ${login}`);
    expect(await migrate(urlOf(login, name))).toContain('TenantRows1763900000071');
    const tenant = await storeTwo(urlOf(login, name));
    expect(await seenBy(urlOf(login, name), tenant)).toEqual([2, 1]);
  });

  it('may have apps with logins of their own, which see all rows but as a tenant', async () => {
    const login = await newLogin();
    await owner.query(`GRANT ${TENANT_ROLE} TO ${login}`);
    await owner.query(`GRANT SELECT ON batches, batch_segments TO ${login}`);
    const tenant = await storeTwo(created.url);
    expect(await seenBy(urlOf(login), tenant)).toEqual([2, 1]);
    await owner.query(`DROP OWNED BY ${login}`);
  });
});
