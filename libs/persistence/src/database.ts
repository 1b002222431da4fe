import { Injectable } from '@nestjs/common';
import type { PoolClient, QueryResultRow } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { withOutcome, type Outcome } from './commit-outcome';
import type { CopyRow } from './copy-row';
import { reporting } from './database-failure';
import { hasDeadline } from './questions/commit-deadline';
import { EntitySession, Session, type SqlStatement } from './session';
import { scopeOf, type Tenant } from './tenants/tenant';
import { TenantDatabase } from './tenants/tenant-database';
import { inTransaction, retried } from './transactions';

export { Session, sqlStateOf, type SqlStatement, type SqlValue } from './session';

/**
 * SQL access for repositories whose exact statements matter: claims, guarded updates, group commits. Connections come
 * from TypeORM's pool, so an app has one pool and one limit.
 */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  /** Runs the work on one connection. @throws AppError unavailable, like all methods, while PostgreSQL is in trouble */
  async session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return reporting(() => this.connected(work));
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

  /**
   * Runs the work in one transaction. After a serialization failure or deadlock it runs again, at most three times. So
   * the work must be able to run twice: everything that it consumes must be taken before it begins.
   * @param outcome how to look up whether the transaction happened if COMMIT is not answered
   * @throws CommitUnknown if COMMIT is not answered and there is no `outcome`, or it could not be looked up in time
   */
  async transaction<T>(work: (session: Session) => Promise<T>, outcome?: Outcome): Promise<T> {
    return this.managed(work, outcome);
  }

  /** Runs the work in one transaction, for repositories that use entities. */
  async entities<T>(work: (manager: EntityManager) => Promise<T>, outcome?: Outcome): Promise<T> {
    return this.managed(({ manager }) => work(manager), outcome);
  }

  /**
   * Returns the database as a tenant may see it, for everything that answers a caller's own request. Queries on this
   * object itself see the rows of all tenants, for work that belongs to no tenant.
   * @param batchIds batches whose lines, segments and results are needed; no others are visible
   */
  asTenant(tenant: Tenant, batchIds?: readonly string[]): TenantDatabase {
    return new TenantDatabase(this.dataSource, scopeOf(tenant, batchIds));
  }

  /** Returns the database for management calls, which see all workspaces of the organization. */
  asOrganization({ organizationId }: { readonly organizationId: string }): TenantDatabase {
    return this.asTenant({ organizationId });
  }

  /** Resolves with true if PostgreSQL answers. */
  async ping(): Promise<boolean> {
    await this.execute({ sql: 'SELECT 1' });
    return true;
  }

  private managed<T>(work: (session: EntitySession) => Promise<T>, outcome?: Outcome): Promise<T> {
    const begin = (client: PoolClient): Promise<unknown> => client.query('BEGIN');
    return reporting(() =>
      withOutcome(
        (part) => retried(() => inTransaction(this.dataSource, begin, (...of) => part(new EntitySession(...of)))),
        work,
        outcome,
      ),
    );
  }

  /** Retries a statement without a transaction: it is atomic, so one that a deadlock ended changed nothing. */
  private alone<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (hasDeadline()) return this.transaction(work);
    return reporting(() => retried(() => this.connected(work)));
  }

  private async connected<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await work(new Session((await runner.connect()) as PoolClient));
    } finally {
      await runner.release();
    }
  }
}
