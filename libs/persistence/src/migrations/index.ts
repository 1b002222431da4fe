import { Foundation1763700000001 } from './1763700000001-foundation';
import { Accounts1763700000002 } from './1763700000002-accounts';
import { Authorization1763700000003 } from './1763700000003-authorization';
import { GenerationContents1763700000006 } from './1763700000006-generation-contents';
import { Credentials1763700000007 } from './1763700000007-credentials';
import { GenerationDetails1763700000009 } from './1763700000009-generation-details';
import { Audit1763700000010 } from './1763700000010-audit';
import { KeyLimitsAndPolicies1763800000001 } from './1763800000001-key-limits-and-policies';
import { IdempotencyKeys1763800000002 } from './1763800000002-idempotency-keys';
import { VaultUpkeep1763800000003 } from './1763800000003-vault-upkeep';
import { BatchEndings1763800000004 } from './1763800000004-batch-endings';
import { NativeBatches1763800000005 } from './1763800000005-native-batches';
import { Webhooks1763800000006 } from './1763800000006-webhooks';
import { Videos1763800000008 } from './1763800000008-videos';
import { ByokMonths1763900000041 } from './1763900000041-byok-months';
import { RefusedKeys1763900000042 } from './1763900000042-refused-keys';
import { VideoReviews1763900000062 } from './1763900000062-video-reviews';
import { BatchQuotes1763900000063 } from './1763900000063-batch-quotes';
import { TenantRows1763900000071 } from './1763900000071-tenant-rows';
import { WebhookRedeliveries1763900000081 } from './1763900000081-webhook-redeliveries';
import { WorkspaceSpending1763900000090 } from './1763900000090-workspace-spending';
import { WorkspaceSettings1763900000091 } from './1763900000091-workspace-settings';
import { LineUsage1763900000100 } from './1763900000100-line-usage';
import { UnreachableUpstream1763900000101 } from './1763900000101-unreachable-upstream';
import { BatchCredentials1763900000110 } from './1763900000110-batch-credentials';
import { NativeLosses1763900000111 } from './1763900000111-native-losses';
import { BatchesInTurn1763900000112 } from './1763900000112-batches-in-turn';
import { SegmentStates1763900000130 } from './1763900000130-segment-states';
import { ChangeFeeds1763900000140 } from './1763900000140-change-feeds';
import { Housekeeping1763900000150 } from './1763900000150-housekeeping';
import { LedgerAudits1763900000160 } from './1763900000160-ledger-audits';
import { WrittenRows1763900000161 } from './1763900000161-written-rows';
import { CreditedAccounts1763900000162 } from './1763900000162-credited-accounts';
import { BatchFunds1763900000170 } from './1763900000170-batch-funds';
import { OpenWork1763900000190 } from './1763900000190-open-work';
import { ReadableAudit1763900000210 } from './1763900000210-readable-audit';
import { OwnKeysOnly1763900000215 } from './1763900000215-own-keys-only';
import { BatchesThatLeaveNothing1763900000216 } from './1763900000216-batches-that-leave-nothing';
import { ClientRequestIds1763900000217 } from './1763900000217-client-request-ids';
import { NativeResults1763900000220 } from './1763900000220-native-results';
import { KeyRotation1763900000250 } from './1763900000250-key-rotation';
import { LastUses1763900000251 } from './1763900000251-last-uses';
import { HoldsThatCountByok1763900000260 } from './1763900000260-holds-that-count-byok';
import { RequestedRemovals1763900000285 } from './1763900000285-requested-removals';
import { UnfinishedAttempts1763900000290 } from './1763900000290-unfinished-attempts';
import { ClaimsByAccount1763900000291 } from './1763900000291-claims-by-account';
import { AppRights1763900000295 } from './1763900000295-app-rights';
import { PurgedWebhooks1763900000300 } from './1763900000300-purged-webhooks';
import { AuditedCodes1763900000301 } from './1763900000301-audited-codes';
import { BoundTaskRuns1763900000310 } from './1763900000310-bound-task-runs';
import { RecordedTerms1763900000320 } from './1763900000320-recorded-terms';
import { ApartFeeds1763900000330 } from './1763900000330-apart-feeds';
import { EndedStatuses1763900000340 } from './1763900000340-ended-statuses';
import { AuditTargets1763900000350 } from './1763900000350-audit-targets';
import { FairWebhooks1763900000360 } from './1763900000360-fair-webhooks';
import { DelayedCharges1763900000370 } from './1763900000370-delayed-charges';
import { UnansweredUploads1763900000380 } from './1763900000380-unanswered-uploads';

/** One ordered history for the whole installation, whichever app owns the table. */
export const migrations = [
  Foundation1763700000001,
  Accounts1763700000002,
  Authorization1763700000003,
  GenerationContents1763700000006,
  Credentials1763700000007,
  GenerationDetails1763700000009,
  Audit1763700000010,
  KeyLimitsAndPolicies1763800000001,
  IdempotencyKeys1763800000002,
  VaultUpkeep1763800000003,
  BatchEndings1763800000004,
  NativeBatches1763800000005,
  Webhooks1763800000006,
  Videos1763800000008,
  ByokMonths1763900000041,
  RefusedKeys1763900000042,
  VideoReviews1763900000062,
  BatchQuotes1763900000063,
  TenantRows1763900000071,
  WebhookRedeliveries1763900000081,
  WorkspaceSpending1763900000090,
  WorkspaceSettings1763900000091,
  LineUsage1763900000100,
  UnreachableUpstream1763900000101,
  BatchCredentials1763900000110,
  NativeLosses1763900000111,
  BatchesInTurn1763900000112,
  SegmentStates1763900000130,
  ChangeFeeds1763900000140,
  Housekeeping1763900000150,
  LedgerAudits1763900000160,
  WrittenRows1763900000161,
  CreditedAccounts1763900000162,
  BatchFunds1763900000170,
  OpenWork1763900000190,
  ReadableAudit1763900000210,
  OwnKeysOnly1763900000215,
  BatchesThatLeaveNothing1763900000216,
  ClientRequestIds1763900000217,
  NativeResults1763900000220,
  KeyRotation1763900000250,
  LastUses1763900000251,
  HoldsThatCountByok1763900000260,
  RequestedRemovals1763900000285,
  UnfinishedAttempts1763900000290,
  ClaimsByAccount1763900000291,
  AppRights1763900000295,
  PurgedWebhooks1763900000300,
  AuditedCodes1763900000301,
  BoundTaskRuns1763900000310,
  RecordedTerms1763900000320,
  ApartFeeds1763900000330,
  EndedStatuses1763900000340,
  AuditTargets1763900000350,
  FairWebhooks1763900000360,
  DelayedCharges1763900000370,
  UnansweredUploads1763900000380,
];
