import type { PoolClient, QueryResultRow } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { withOutcome, type Outcome } from '../commit-outcome';
import { CopyOut } from '../copy-out';
import type { CopyRow } from '../copy-row';
import { reporting } from '../database-failure';
import { hasDeadline } from '../questions/commit-deadline';
import { EntitySession, type SqlStatement } from '../session';
import { inTransaction, retried } from '../transactions';
import { ENTER_TENANT, enterTenantSql, scopeOf, type Tenant, type TenantScope } from './tenant';
import { queryAsTenant } from './tenant-query';

/** A transaction of one tenant. Code that requires this type cannot be given a transaction that sees all rows. */
export class TenantSession extends EntitySession {
  /** Brands the type, so that a plain `Session` is not assignable to it. */
  protected readonly isOfTenant = true;
}

/**
 * The database as one tenant may see it. Statements run with a role to which the policies of each table apply, so rows
 * of other tenants are invisible, whatever the statement selects.
 */
export class TenantDatabase {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: TenantScope,
  ) {}

  /** Takes one round trip, as without a tenant; a transaction if it must not be committed late. */
  async rows<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row[]> {
    if (hasDeadline()) return this.transaction((session) => session.rows<Row>(statement));
    const result = await this.connected((client) => queryAsTenant<Row>(client, this.scope, statement));
    return result.rows;
  }

  async firstRow<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row | null> {
    return (await this.rows<Row>(statement))[0] ?? null;
  }

  /** How many rows the statement touched. */
  async execute(statement: SqlStatement): Promise<number> {
    if (hasDeadline()) return this.transaction((session) => session.execute(statement));
    return (await this.connected((client) => queryAsTenant(client, this.scope, statement))).rowCount ?? 0;
  }

  /** See Session.copyEach; one round trip. */
  async copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void> {
    await this.connected((client) => client.query(new CopyOut(select, onRow, enterTenantSql(this.scope))).done);
  }

  /** See Database.transaction. */
  async transaction<T>(work: (session: TenantSession) => Promise<T>, outcome?: Outcome): Promise<T> {
    const begin = (client: PoolClient): Promise<unknown> =>
      queryAsTenant(client, this.scope, { name: 'begin', sql: 'BEGIN' });
    return reporting(() =>
      withOutcome(
        (part) => retried(() => inTransaction(this.dataSource, begin, (...of) => part(new TenantSession(...of)))),
        work,
        outcome,
      ),
    );
  }

  /** Runs the work in one transaction of the tenant, for repositories that use entities. */
  async entities<T>(work: (manager: EntityManager) => Promise<T>, outcome?: Outcome): Promise<T> {
    return this.transaction(({ manager }) => work(manager), outcome);
  }

  private connected<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return reporting(async () => {
      const runner = this.dataSource.createQueryRunner();
      try {
        return await work((await runner.connect()) as PoolClient);
      } finally {
        await runner.release();
      }
    });
  }
}

/**
 * Gives the rest of a transaction to a tenant that had to be found out first, by a row that only the holder of a
 * secret can name.
 */
export async function enterTenant(manager: EntityManager, tenant: Tenant): Promise<void> {
  await manager.query(ENTER_TENANT, [...scopeOf(tenant)]);
}
