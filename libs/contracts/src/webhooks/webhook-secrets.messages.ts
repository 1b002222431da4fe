import { ArrayMaxSize, ArrayMinSize, IsArray, IsUUID, Matches } from 'class-validator';
import { SEALING_PUBLIC_KEY } from '../credentials/vault.messages';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';

/** A workspace, and the public key of a key pair that the asking process made for this request. */
export class WebhookSecretRequest {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  workspaceId: string;

  @Matches(SEALING_PUBLIC_KEY)
  recipient: string;
}

export class RotatedWebhookSecret {
  /** `whsec_` and the base64 of 32 bytes, as a compact JWE (ECDH-ES, A256GCM) to the recipient. */
  sealedSecret: string;
}

/**
 * Creates a new secret for the workspace's webhooks. The previous one also signs for another 24 hours; earlier ones
 * stop.
 *
 * Errors: `not_found` for a workspace that is unknown, of another organization, or deleted.
 */
export const RotateWebhookSecret = call({
  queue: queues.credentials,
  name: 'credentials.rotate-webhook-secret',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: WebhookSecretRequest,
  response: RotatedWebhookSecret,
});

export class OpenedWebhookSecrets {
  /** The secrets that sign now, sealed as above, the newest first; empty if none was ever created. */
  sealedSecrets: string[];
}

/** Errors: `server` if the stored data cannot be decrypted. */
export const OpenWebhookSecrets = call({
  queue: queues.credentials,
  name: 'credentials.open-webhook-secrets',
  askedBy: ['video-worker'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: WebhookSecretRequest,
  response: OpenedWebhookSecrets,
});

const MOST_WORKSPACES = 100;

export class FindSigningWorkspacesRequest {
  @IsUUID()
  organizationId: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MOST_WORKSPACES)
  @IsUUID(undefined, { each: true })
  workspaceIds: string[];
}

export class FindSigningWorkspacesResponse {
  /** The workspaces among them whose webhooks are signed. */
  workspaceIds: string[];
}

export const FindSigningWorkspaces = call({
  queue: queues.credentials,
  name: 'credentials.find-signing-workspaces',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: FindSigningWorkspacesRequest,
  response: FindSigningWorkspacesResponse,
});

export const webhookSecretContracts = [RotateWebhookSecret, OpenWebhookSecrets, FindSigningWorkspaces];
