import type { PoolClient, QueryResultRow } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { CopyOut } from '../copy-out';
import type { CopyRow } from '../copy-row';
import { Session, type SqlStatement } from '../session';
import { retried } from '../transactions';
import { ENTER_TENANT, enterTenantSql, scopeOf, type Tenant, type TenantScope } from './tenant';
import { queryAsTenant } from './tenant-query';

/** A transaction of one tenant; what is given one cannot be given a transaction that sees everybody's rows. */
export class TenantSession extends Session {
  /** Keeps a plain Session from being one by its looks. */
  protected readonly isOfTenant = true;

  constructor(
    client: PoolClient,
    /** The same transaction, for repositories that work with entities. */
    readonly manager: EntityManager,
  ) {
    super(client);
  }
}

/**
 * The database as one tenant may see it. Statements run as a role that the policies of each table bind, so a row of
 * another tenant is not there, whatever the statement asks for.
 */
export class TenantDatabase {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: TenantScope,
  ) {}

  /** One round trip, as without a tenant. */
  async rows<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row[]> {
    const result = await this.connected((client) => queryAsTenant<Row>(client, this.scope, statement));
    return result.rows;
  }

  async firstRow<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row | null> {
    return (await this.rows<Row>(statement))[0] ?? null;
  }

  /** How many rows the statement touched. */
  async execute(statement: SqlStatement): Promise<number> {
    return (await this.connected((client) => queryAsTenant(client, this.scope, statement))).rowCount ?? 0;
  }

  /** See Session.copyEach; one round trip. */
  async copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void> {
    await this.connected((client) => client.query(new CopyOut(select, onRow, enterTenantSql(this.scope))).done);
  }

  /** Runs the work in one transaction; a serialization failure or deadlock runs it again, at most three times. */
  async transaction<T>(work: (session: TenantSession) => Promise<T>): Promise<T> {
    return retried(() => this.inTransaction(work));
  }

  /** The same for repositories that work with entities. */
  async entities<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.transaction(({ manager }) => work(manager));
  }

  private async inTransaction<T>(work: (session: TenantSession) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      // TypeORM would begin it in a round trip of its own, and locks rows only where it knows of a transaction.
      await queryAsTenant(client, this.scope, { name: 'begin', sql: 'BEGIN' });
      Object.assign(runner, { isTransactionActive: true });
      try {
        const result = await work(new TenantSession(client, runner.manager));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        // A connection that cannot even roll back is broken; the pool finds that out by itself.
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      } finally {
        Object.assign(runner, { isTransactionActive: false });
      }
    } finally {
      await runner.release();
    }
  }

  private async connected<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await work((await runner.connect()) as PoolClient);
    } finally {
      await runner.release();
    }
  }
}

/**
 * Gives the rest of a transaction to a tenant that had to be found out first, by a row that only the holder of a
 * secret can name.
 */
export async function enterTenant(manager: EntityManager, tenant: Tenant): Promise<void> {
  await manager.query(ENTER_TENANT, [...scopeOf(tenant)]);
}
