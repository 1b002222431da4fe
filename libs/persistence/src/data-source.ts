import type { EventEmitter } from 'node:events';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AuditEntryEntity } from './audit/audit-entry.entity';
import { BatchEntity } from './batches/batch.entity';
import { BatchLineEntity } from './batches/batch-line.entity';
import { BatchResultEntity } from './batches/batch-result.entity';
import { BatchSegmentEntity } from './batches/batch-segment.entity';
import { BatchWorkerEntity } from './batches/batch-worker.entity';
import { GenerationContentEntity } from './generations/generation-content.entity';
import { GenerationEntity } from './generations/generation.entity';
import { LedgerAccountEntity } from './ledger/ledger-account.entity';
import { LedgerHoldEntity } from './ledger/ledger-hold.entity';
import { LedgerByokMonthEntity } from './ledger/ledger-byok-month.entity';
import { LedgerKeyDayEntity } from './ledger/ledger-key-day.entity';
import { LedgerKeyEntity } from './ledger/ledger-key.entity';
import { LedgerTransferEntity } from './ledger/ledger-transfer.entity';
import { LedgerWorkspaceEntity } from './ledger/ledger-workspace.entity';
import { migrations } from './migrations';
import { NativeBatchEntity } from './native-batches/native-batch.entity';
import { OutboxEntity } from './outbox/outbox.entity';
import { VideoEntity } from './videos/video.entity';
import { WebhookDeliveryEntity } from './webhooks/webhook-delivery.entity';

export type EntityClass = new () => object;

export interface PersistenceOptions {
  /** postgres:// URL. */
  readonly url: string;
  /** Entities of the app itself: tables with one owner live in that app. */
  readonly entities?: readonly EntityClass[];
  /** Connections this process may open. */
  readonly poolSize?: number;
  /** Longest time one statement may take. */
  readonly statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Told of connections that died while idle, for the log. */
  readonly onPoolError?: (error: Error) => void;
}

const sharedEntities = [
  AuditEntryEntity,
  BatchEntity,
  BatchLineEntity,
  BatchSegmentEntity,
  BatchResultEntity,
  BatchWorkerEntity,
  GenerationEntity,
  GenerationContentEntity,
  LedgerAccountEntity,
  LedgerHoldEntity,
  LedgerByokMonthEntity,
  LedgerKeyDayEntity,
  LedgerKeyEntity,
  LedgerTransferEntity,
  LedgerWorkspaceEntity,
  NativeBatchEntity,
  OutboxEntity,
  VideoEntity,
  WebhookDeliveryEntity,
];

/**
 * A connection that ends in the packet that opened it has left the pool's hands and is not in TypeORM's yet. Nobody
 * listens to it then, and an error that nobody listens to ends the process; whoever asks it something hears of it.
 */
function survive(client: EventEmitter): void {
  client.on('error', () => undefined);
}

/**
 * Time limits are set on the server side of every connection, so that a lost client, a lock or a wedged
 * statement costs seconds and never a pool slot for good.
 */
export function dataSourceOptions(options: PersistenceOptions): DataSourceOptions {
  return {
    type: 'postgres',
    url: options.url,
    entities: [...sharedEntities, ...(options.entities ?? [])],
    migrations,
    migrationsTransactionMode: 'each',
    poolSize: options.poolSize ?? 10,
    applicationName: options.applicationName ?? 'sluice',
    // Without a handler a dropped idle connection would end the process; the pool replaces it by itself.
    poolErrorHandler: (error: Error) => options.onPoolError?.(error),
    extra: {
      onConnect: survive,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
      statement_timeout: options.statementTimeoutMs ?? 5_000,
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 10_000,
    },
  };
}

export function createDataSource(options: PersistenceOptions): DataSource {
  return new DataSource(dataSourceOptions(options));
}
