import { Logger, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { Secret } from '@libs/contracts';
import { AuditRepository } from './audit/audit.repository';
import { BatchAnnouncementsRepository } from './batches/batch-announcements.repository';
import { BatchDemandRepository } from './batches/batch-demand.repository';
import { BatchEndingsRepository } from './batches/batch-endings.repository';
import { BatchIntakeRepository } from './batches/batch-intake.repository';
import { BatchLineViewsRepository } from './batches/batch-line-views.repository';
import { BatchLinesRepository } from './batches/batch-lines.repository';
import { BatchQuotesRepository } from './batches/batch-quotes.repository';
import { BatchRemovalRepository } from './batches/batch-removal.repository';
import { BatchResultPagesRepository } from './batches/batch-result-pages.repository';
import { BatchFundsRepository } from './batches/batch-funds.repository';
import { BatchResultsRepository } from './batches/batch-results.repository';
import { BatchSegmentsRepository } from './batches/batch-segments.repository';
import { StaleUploadsRepository } from './batches/stale-uploads.repository';
import { BatchesRepository } from './batches/batches.repository';
import { BatchViewsRepository } from './batches/batch-views.repository';
import { BatchWorkersRepository } from './batches/batch-workers.repository';
import { dataSourceOptions, type EntityClass } from './data-source';
import { Database } from './database';
import { FeedsRepository } from './feeds/feeds.repository';
import { GenerationContentsRepository } from './generations/generation-contents.repository';
import { DelayedChargesRepository } from './generations/delayed-charges.repository';
import { GenerationsRepository } from './generations/generations.repository';
import { ByokAllowance } from './ledger/byok-allowance';
import { LastUses } from './last-uses/last-uses';
import { LastUsesRepository } from './last-uses/last-uses.repository';
import { LedgerAuditRepository } from './ledger-audit/ledger-audit.repository';
import { LedgerHoldsRepository } from './ledger/ledger-holds.repository';
import { LedgerRepository } from './ledger/ledger.repository';
import { NativeBatchesRepository } from './native-batches/native-batches.repository';
import { NativePlansRepository } from './native-batches/native-plans.repository';
import { NativeStoppingRepository } from './native-batches/native-stopping.repository';
import { NativeSegmentsRepository } from './native-batches/native-segments.repository';
import { OutboxRepository } from './outbox/outbox.repository';
import { UsedQuestionsRepository } from './questions/used-questions.repository';
import { SingleRunner } from './single-runner';
import { PartitionsRepository } from './partitions.repository';
import { VideoDemandRepository } from './videos/video-demand.repository';
import { VideoEndsRepository } from './videos/video-ends.repository';
import { VideoIntakeRepository } from './videos/video-intake.repository';
import { VideoJobsRepository } from './videos/video-jobs.repository';
import { VideoViewsRepository } from './videos/video-views.repository';
import { WebhookDeliveriesRepository } from './webhooks/webhook-deliveries.repository';

export interface PersistenceModuleOptions {
  readonly databaseUrl: Secret;
  readonly applicationName: string;
  readonly entities?: readonly EntityClass[];
  readonly poolSize?: number;
  /** See ByokAllowance; for apps that charge calls. */
  readonly byokFreeUsdPerMonth?: string;
}

const repositories = [
  Database,
  AuditRepository,
  BatchesRepository,
  BatchViewsRepository,
  BatchAnnouncementsRepository,
  BatchDemandRepository,
  BatchEndingsRepository,
  BatchQuotesRepository,
  BatchRemovalRepository,
  BatchLinesRepository,
  BatchLineViewsRepository,
  BatchIntakeRepository,
  BatchSegmentsRepository,
  BatchFundsRepository,
  BatchResultsRepository,
  BatchResultPagesRepository,
  BatchWorkersRepository,
  FeedsRepository,
  DelayedChargesRepository,
  GenerationsRepository,
  GenerationContentsRepository,
  LastUsesRepository,
  LedgerAuditRepository,
  LedgerHoldsRepository,
  LedgerRepository,
  NativeBatchesRepository,
  NativePlansRepository,
  NativeSegmentsRepository,
  NativeStoppingRepository,
  OutboxRepository,
  PartitionsRepository,
  SingleRunner,
  StaleUploadsRepository,
  UsedQuestionsRepository,
  VideoDemandRepository,
  VideoEndsRepository,
  VideoIntakeRepository,
  VideoJobsRepository,
  VideoViewsRepository,
  WebhookDeliveriesRepository,
];

/**
 * The one PostgreSQL pool of an app, and the repositories of the tables that apps share.
 *
 * Global, because a process has one pool, whose address and entities only the root of its app knows. Nearly every
 * module uses it, and tests replace repositories by fakes: a module that imported this one would connect to PostgreSQL.
 */
@Module({})
export class PersistenceModule {
  static forRoot(options: PersistenceModuleOptions): DynamicModule {
    const logger = new Logger(PersistenceModule.name);
    const dataSource = dataSourceOptions({
      url: options.databaseUrl.reveal(),
      applicationName: options.applicationName,
      entities: options.entities,
      poolSize: options.poolSize,
      onPoolError: (error) => logger.warn(`an idle database connection was lost: ${error.message}`),
    });
    return {
      module: PersistenceModule,
      global: true,
      imports: [TypeOrmModule.forRoot({ ...dataSource, retryAttempts: 30, retryDelay: 1_000 })],
      providers: [
        ...repositories,
        {
          provide: LastUses,
          inject: [LastUsesRepository],
          useFactory: (uses: LastUsesRepository) => new LastUses(uses),
        },
        { provide: ByokAllowance, useValue: new ByokAllowance(options.byokFreeUsdPerMonth ?? null) },
      ],
      exports: [TypeOrmModule, ...repositories, LastUses],
    };
  }
}
