import { credentialContracts } from '../credentials/credentials.messages';
import { vaultContracts } from '../credentials/vault.messages';
import { feedContracts } from '../feeds/feeds.messages';
import { keyRotationContracts } from '../keys/key-rotation.messages';
import { keyContracts } from '../keys/keys.messages';
import { authorizationCodeContracts } from '../oauth/authorization-codes.messages';
import { consentSessionContracts } from '../oauth/consent-sessions.messages';
import { organizationContracts } from '../organizations/organizations.messages';
import { budgetContracts } from '../workspaces/budgets.messages';
import { memberContracts } from '../workspaces/members.messages';
import { workspaceContracts } from '../workspaces/workspaces.messages';
import { tokenContracts } from '../tokens/tokens.messages';
import { issuerContracts } from '../workload-identity/issuers.messages';
import { policyContracts } from '../workload-identity/policies.messages';
import { AdvanceBatch } from '../batches/batches.messages';
import { AdvanceVideo } from '../videos/videos.messages';
import { webhookSecretContracts } from '../webhooks/webhook-secrets.messages';
import { DeliverWebhook } from '../webhooks/webhooks.messages';
import type { Contract } from './contract';

/** Every contract of the house. A process that consumes a queue refuses to boot unless it handles all of its contracts. */
export const allContracts: readonly Contract[] = [
  ...keyContracts,
  ...keyRotationContracts,
  ...feedContracts,
  ...organizationContracts,
  ...workspaceContracts,
  ...budgetContracts,
  ...memberContracts,
  ...authorizationCodeContracts,
  ...consentSessionContracts,
  ...issuerContracts,
  ...policyContracts,
  ...tokenContracts,
  ...credentialContracts,
  ...vaultContracts,
  ...webhookSecretContracts,
  AdvanceBatch,
  AdvanceVideo,
  DeliverWebhook,
];
