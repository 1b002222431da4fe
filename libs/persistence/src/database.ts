import { Injectable } from '@nestjs/common';
import type { PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { CopyRow } from './copy-row';
import { Session, type SqlStatement } from './session';
import { scopeOf, type Tenant } from './tenants/tenant';
import { TenantDatabase } from './tenants/tenant-database';
import { retried } from './transactions';

export { Session, sqlStateOf, type SqlStatement, type SqlValue } from './session';

/**
 * SQL for the repositories whose statements are the design: claims, guarded updates, group commits.
 * Connections come from TypeORM's pool, so an app has one pool and one limit.
 */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  async session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await work(new Session((await runner.connect()) as PoolClient));
    } finally {
      await runner.release();
    }
  }

  async rows<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row[]> {
    return this.alone((session) => session.rows<Row>(statement));
  }

  async firstRow<Row extends QueryResultRow>(statement: SqlStatement): Promise<Row | null> {
    return this.alone((session) => session.firstRow<Row>(statement));
  }

  async execute(statement: SqlStatement): Promise<number> {
    return this.alone((session) => session.execute(statement));
  }

  /** See Session.copyEach. */
  async copyEach(select: string, onRow: (row: CopyRow) => void): Promise<void> {
    await this.session((session) => session.copyEach(select, onRow));
  }

  /** Runs the work in one transaction; a serialization failure or deadlock runs it again, at most three times. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return retried(() => this.session((session) => inTransaction(session, work)));
  }

  /**
   * The database as a tenant may see it, for everything that answers a caller's own request. What is asked of this
   * object itself sees the rows of all tenants: work that is nobody's own.
   *
   * @param batchIds batches whose lines, segments and results are asked for; no others are shown
   */
  asTenant(tenant: Tenant, batchIds?: readonly string[]): TenantDatabase {
    return new TenantDatabase(this.dataSource, scopeOf(tenant, batchIds));
  }

  /** The same for management, which sees all workspaces of an organization, whichever one is spoken of. */
  asOrganization({ organizationId }: { readonly organizationId: string }): TenantDatabase {
    return this.asTenant({ organizationId });
  }

  /** True when PostgreSQL answers. */
  async ping(): Promise<boolean> {
    await this.execute({ sql: 'SELECT 1' });
    return true;
  }

  /** A statement without a transaction is one by itself: what a deadlock ended left nothing behind. */
  private alone<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return retried(() => this.session(work));
  }
}

async function inTransaction<T>(session: Session, work: (session: Session) => Promise<T>): Promise<T> {
  await session.client.query('BEGIN');
  try {
    const result = await work(session);
    await session.client.query('COMMIT');
    return result;
  } catch (error) {
    // A connection that cannot even roll back is broken; the pool finds that out by itself.
    await session.client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
