import type { Command } from '../command';
import { batchesCheck } from './batches-check.command';
import { batchesShow } from './batches-show.command';
import { brokerKeys } from './broker-keys.command';
import { brokerPermissions } from './broker-permissions.command';
import { catalogCheck } from './catalog-check.command';
import { catalogDiscover } from './catalog-discover.command';
import { catalogImport } from './catalog-import.command';
import { credentialsRotateKek } from './credentials-rotate-kek.command';
import { creditsAdd } from './credits-add.command';
import { keysCreate } from './keys-create.command';
import { keysList } from './keys-list.command';
import { keysDelete, keysDisable, keysEnable } from './keys-switch.command';
import { ledgerAudit } from './ledger-audit.command';
import { ledgerHolds } from './ledger-holds.command';
import { ledgerReconcile } from './ledger-reconcile.command';
import { ledgerReleaseHold } from './ledger-release-hold.command';
import { organizationsCreate } from './organizations-create.command';
import { organizationsList } from './organizations-list.command';
import { videosInReview } from './videos-in-review.command';
import { videosResolve } from './videos-resolve.command';
import { webhooksList } from './webhooks-list.command';
import { webhooksRedeliver } from './webhooks-redeliver.command';
import { workspacesCreate } from './workspaces-create.command';
import { workspacesList } from './workspaces-list.command';

/** The registry: one line per command. */
export const commands: readonly Command[] = [
  organizationsCreate,
  organizationsList,
  workspacesCreate,
  workspacesList,
  keysCreate,
  keysList,
  keysDisable,
  keysEnable,
  keysDelete,
  creditsAdd,
  ledgerAudit,
  ledgerReconcile,
  ledgerHolds,
  ledgerReleaseHold,
  credentialsRotateKek,
  batchesShow,
  batchesCheck,
  videosInReview,
  videosResolve,
  webhooksList,
  webhooksRedeliver,
  catalogCheck,
  catalogDiscover,
  catalogImport,
  brokerKeys,
  brokerPermissions,
];
