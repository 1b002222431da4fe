import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { sqlStateOf } from '../session';

/** SQLSTATEs of temporary conflicts. Roles belong to the cluster, and two of its databases may migrate at once. */
const TRIED_AGAIN = new Set(['42710', '23505', 'XX000', '55P03', '40P01']);
const ATTEMPTS = 40;
/** SQLSTATEs of statements that the login may not run, and of roles that are missing because of that. */
const REFUSALS = new Set(['42501', '42704']);

/** Creates missing roles and memberships, and collects the statements that the login may not run. */
export class RoleMaker {
  readonly #refused: string[] = [];

  constructor(private readonly client: Client) {}

  async ensure(role: string, attributes: string): Promise<void> {
    await repeated(async () => {
      const { rowCount } = await this.client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
      if (rowCount === 0) await this.#try(`CREATE ROLE ${role} ${attributes}`);
    });
  }

  async grant(role: string, member: string): Promise<void> {
    await repeated(async () => {
      if (!(await this.#isMember(role, member))) await this.#try(`GRANT ${role} TO ${member}`);
    });
  }

  async revoke(role: string, member: string): Promise<void> {
    await repeated(async () => {
      if (await this.#isMember(role, member)) await this.#try(`REVOKE ${role} FROM ${member}`);
    });
  }

  async limit(login: string, connections: number): Promise<void> {
    await repeated(async () => {
      const { rowCount } = await this.client.query('SELECT FROM pg_roles WHERE rolname = $1 AND rolconnlimit <> $2', [
        login,
        connections,
      ]);
      if (rowCount !== 0) await this.#try(`ALTER ROLE ${login} CONNECTION LIMIT ${connections}`);
    });
  }

  async alter(sql: string): Promise<void> {
    await repeated(() => this.#try(sql));
  }

  /** @throws Error with the statements that a superuser must run */
  requireAll(): void {
    if (this.#refused.length === 0) return;
    const sql = this.#refused.join('; ').replaceAll(/ PASSWORD '[^']*'/g, ` PASSWORD '…'`);
    throw new Error(
      `${String(this.client.user)} may not make the logins of the apps; as a superuser run: ${sql}; then leave passwords ` +
        'that were set so out of DATABASE_LOGINS and migrate again',
    );
  }

  async #isMember(role: string, member: string): Promise<boolean> {
    const { rowCount } = await this.client.query(
      `SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles r ON r.oid = m.member
       WHERE g.rolname = $1 AND r.rolname = $2`,
      [role, member],
    );
    return rowCount !== 0;
  }

  async #try(sql: string): Promise<void> {
    await this.client.query(sql).catch((error: unknown) => {
      if (!REFUSALS.has(sqlStateOf(error) ?? '')) throw error;
      this.#refused.push(sql);
    });
  }
}

/** Repeats the work after temporary conflicts, up to 40 times. */
export async function repeated(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !TRIED_AGAIN.has(sqlStateOf(error) ?? '')) throw error;
      await delay(25 + Math.random() * 50);
    }
  }
}
