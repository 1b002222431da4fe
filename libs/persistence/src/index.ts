export { AuditRepository, type AuditFilter, type BegunAuditEntry, type NewAuditEntry } from './audit/audit.repository';
export { BatchChecksRepository, type BatchFinding } from './batches/batch-checks.repository';
export { UsedQuestionsRepository } from './questions/used-questions.repository';
export { BatchLineEncoder } from './batches/batch-line-encoder';
export {
  BatchIntakeRepository,
  type BatchKey,
  type BatchOwner,
  type SegmentRange,
} from './batches/batch-intake.repository';
export { BatchLinesRepository } from './batches/batch-lines.repository';
export { BatchResultPagesRepository, RESULT_FIELD } from './batches/batch-result-pages.repository';
export { BatchFundsRepository } from './batches/batch-funds.repository';
export {
  BatchResultsRepository,
  type LineError,
  type LineOutcome,
  type StoreReport,
} from './batches/batch-results.repository';
export { BatchEndingsRepository, type StoppingBatch } from './batches/batch-endings.repository';
export type { BatchLane, BatchQuote, StoredQuote } from './batches/batch-quote';
export {
  BatchQuotesRepository,
  type BatchKind,
  type QuotedBatch,
  type QuoteOutcome,
} from './batches/batch-quotes.repository';
export { BatchRemovalRepository, type RemovalAnswer } from './batches/batch-removal.repository';
export {
  BatchSegmentsRepository,
  type ClaimedSegment,
  type KeptOut,
  type SegmentLease,
  type TimedLease,
} from './batches/batch-segments.repository';
export { ALONE_FROM, CALLED_ALONE, ONE_AT_A_TIME_FROM } from './batches/segment-claims';
export { BatchesRepository, type BatchWork } from './batches/batches.repository';
export { BatchLineViewsRepository, type BatchLineView } from './batches/batch-line-views.repository';
export type { BatchTotals, SummedIteration } from './batches/batch-totals';
export type { LineUsageDetails } from './batches/line-usage';
export {
  BATCH_RETENTION_DAYS,
  BatchViewsRepository,
  type BatchFilter,
  type BatchView,
} from './batches/batch-views.repository';
export { BatchDemandRepository, type DemandGoal } from './batches/batch-demand.repository';
export {
  BatchWorkersRepository,
  type LaneSpeed,
  type WorkerReport,
  type WorkerSpeed,
} from './batches/batch-workers.repository';
export type { BatchLine } from './batches/select-lines';
export { outcomeOfRow } from './commit-outcome';
export { CopyRow } from './copy-row';
export { createDataSource } from './data-source';
export { GroupCommit, type GroupCommitOptions, type GroupTry } from './group-commit';
export { Database, Session, sqlStateOf } from './database';
export { FeedsRepository } from './feeds/feeds.repository';
export {
  GenerationContentsRepository,
  type GenerationContent,
  type StoredContent,
} from './generations/generation-contents.repository';
export type {
  GenerationAttempt,
  GenerationDetails,
  GenerationOpening,
  AskedCall,
  GenerationSearch,
  GenerationSettlement,
  OpeningTerms,
} from './generations/generation-records';
export { DelayedChargesRepository } from './generations/delayed-charges.repository';
export { GenerationsRepository, type GenerationView, type OpeningVerdict } from './generations/generations.repository';
export { LastUses } from './last-uses/last-uses';
export { LastUsesRepository } from './last-uses/last-uses.repository';
export {
  LedgerAuditRepository,
  type LastLedgerAudit,
  type LedgerAuditReport,
} from './ledger-audit/ledger-audit.repository';
export type { LedgerFinding } from './ledger-audit/ledger-finding';
export { LedgerHoldsRepository } from './ledger/ledger-holds.repository';
export { LedgerRepository, type AccountState } from './ledger/ledger.repository';
export { OperatorTopUpsRepository } from './ledger/operator-top-ups.repository';
export type { KeyLimit, SpendingLimit } from './ledger/key-limit';
export { countsByok, keyLimitOf } from './ledger/key-limit-of';
export type { Spender } from './ledger/room-to-spend';
export { HeldBack, noteHeldBack, tryWhileHeldBack } from './ledger/held-back';
export type { HoldRefusal } from './ledger/set-aside';
export { migrate } from './migrate';
export { parseAppLogins } from './rights/app-logins';
export { POOL_SIZES } from './rights/connections';
export { OutboxRepository } from './outbox/outbox.repository';
export { PersistenceModule } from './persistence.module';
export { PARTITIONED_TABLES, PartitionsRepository, type PartitionedTable } from './partitions.repository';
export {
  RecordedChargesRepository,
  type CountedDay,
  type DayRange,
  type RecordedDay,
  type RecordedWork,
} from './reconciliation/recorded-charges.repository';
export { StaleUploadsRepository } from './batches/stale-uploads.repository';
export { SubmittedBefore, type SubmissionKey, type SubmissionKey as BatchIdempotency } from './submitted-rows';
export {
  isLocked,
  isRefusedForItsData,
  storeApart,
  type RefusedRow,
  type RowLocks,
  type StoredApart,
} from './store-apart';
export { SingleRunner } from './single-runner';
export type { Tenant, WorkspaceTenant } from './tenants/tenant';
export { enterTenant } from './tenants/tenant-database';
export { CommitUnknown } from './transactions';
export { VideoDemandRepository, type VideoDemand } from './videos/video-demand.repository';
export { VideoEndsRepository, type VideoEnd } from './videos/video-ends.repository';
export { VideoIntakeRepository, type NewVideo } from './videos/video-intake.repository';
export { VideoJobsRepository, type VideoJob, type VideoWait } from './videos/video-jobs.repository';
export { VideoReviewsRepository, type Reviewer, type ReviewVerdict } from './videos/video-reviews.repository';
export { VideoViewsRepository, type VideoView } from './videos/video-views.repository';
export type { KeptVideo, VideoDimensions, VideoStep } from './videos/video-state';
export { WebhookDeliveriesRepository } from './webhooks/webhook-deliveries.repository';
export type { AttemptResult, ClaimedWebhook, WebhookReport } from './webhooks/webhook-delivery';
export { NativeBatchesRepository, type NativeBatch } from './native-batches/native-batches.repository';
export * from './native-batches/native-plans.repository';
export * from './native-batches/native-segments.repository';
export * from './native-batches/native-stopping.repository';
