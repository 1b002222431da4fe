import type { ClientBase } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AuditEntryEntity } from './audit/audit-entry.entity';
import { migrations } from './migrations';
import { TENANT_ROLES } from './rights/app-roles';
import { endWhenSilent } from './silence';
import { prepareSql } from './tenants/tenant';

export type EntityClass = new () => object;

export interface PersistenceOptions {
  /** postgres:// URL. */
  readonly url: string;
  /** Entities of the app itself: tables with one owner are defined in that app. */
  readonly entities?: readonly EntityClass[];
  /** Connections this process may open. */
  readonly poolSize?: number;
  /** Longest wait for a connection, new or pooled; short in apps that serve requests, so that they fail soon. */
  readonly connectTimeoutMs?: number;
  /** Longest time one statement may take. */
  readonly statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Called when an idle connection dies, for the log. */
  readonly onPoolError?: (error: Error) => void;
}

const PREPARE = prepareSql(TENANT_ROLES);

/**
 * Turns JIT compilation of plans off, which would take longer than any statement here. A statement does this, because
 * PostgreSQL proxies refuse connections with server command-line options. The same statement also looks up the tenant
 * role of the login.
 *
 * During its round trip the pool still listens for errors of the new connection. Otherwise a connection that ends
 * immediately would fail between pool and TypeORM, and an error without a listener ends the process.
 */
async function prepare(client: ClientBase, statementMs: number): Promise<void> {
  endWhenSilent(client, statementMs);
  await client.query(PREPARE);
}

/**
 * Time limits are set on the server side of every connection, so that a lost client, a lock or a wedged
 * statement costs seconds and never a pool slot for good. A server that is lost is noticed here.
 */
export function dataSourceOptions(options: PersistenceOptions): DataSourceOptions {
  const statementMs = options.statementTimeoutMs ?? 5_000;
  return {
    type: 'postgres',
    url: options.url,
    entities: [AuditEntryEntity, ...(options.entities ?? [])],
    migrations,
    migrationsTransactionMode: 'each',
    poolSize: options.poolSize ?? 10,
    applicationName: options.applicationName ?? 'sluice',
    // Without a handler, a dropped idle connection would end the process; the pool replaces it by itself.
    poolErrorHandler: (error: Error) => options.onPoolError?.(error),
    extra: {
      onConnect: (client: ClientBase) => prepare(client, statementMs),
      connectionTimeoutMillis: options.connectTimeoutMs ?? 2_000,
      keepAlive: true,
      statement_timeout: statementMs,
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 10_000,
    },
  };
}

export function createDataSource(options: PersistenceOptions): DataSource {
  return new DataSource(dataSourceOptions(options));
}
