import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  GetWorkspace,
  Secret,
  webhookSecretPurpose,
  type FindSigningWorkspacesRequest,
  type FindSigningWorkspacesResponse,
  type OpenedWebhookSecrets,
  type RotatedWebhookSecret,
  type WebhookSecretRequest,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus, seal } from '@libs/platform';
import { EnvelopeCipher, type WebhookSecretIdentity } from '../vault/envelope-cipher';
import { OpenJobsRepository } from '../vault/open-jobs.repository';
import { WebhookSecretsRepository, type StoredWebhookSecret } from './webhook-secrets.repository';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * Makes and opens the secrets that sign webhooks. A secret is stored like callers' provider keys and sent sealed to the
 * process that asked: the gateway, which shows it once, or the worker that signs.
 */
@Injectable()
export class WebhookSecretsService {
  constructor(
    private readonly repository: WebhookSecretsRepository,
    private readonly cipher: EnvelopeCipher,
    private readonly bus: MessageBus,
    private readonly jobs: OpenJobsRepository,
  ) {}

  async rotate({ organizationId, workspaceId: named, recipient }: WebhookSecretRequest): Promise<RotatedWebhookSecret> {
    const { id: workspaceId } = await this.bus.call(GetWorkspace, { organizationId, id: named });
    const secret = new Secret(PREFIX + randomBytes(SECRET_BYTES).toString('base64'));
    const identity = identityOf({ id: randomUUID(), organizationId, workspaceId });
    const { dataKey, sealedKey } = await this.cipher.seal(secret, identity);
    const { keyEncryptionKeyId, wrapped: wrappedDataKey } = dataKey;
    await this.repository.replace({ ...identity, keyEncryptionKeyId, wrappedDataKey, sealedKey });
    return { sealedSecret: await seal(secret, { publicKey: recipient }, webhookSecretPurpose(workspaceId)) };
  }

  /** @throws AppError not_found for a workspace that is owed no webhook */
  async open({ organizationId, workspaceId, recipient }: WebhookSecretRequest): Promise<OpenedWebhookSecrets> {
    const isOwed = await this.jobs.hasWebhook({ organizationId, workspaceId });
    if (!isOwed) throw new AppError('not_found', 'No such webhook');
    const stored = await this.repository.findLive(organizationId, workspaceId);
    const purpose = webhookSecretPurpose(workspaceId);
    const sealedSecrets = stored.map(async (one) => {
      const { keyEncryptionKeyId, wrappedDataKey: wrapped, sealedKey } = one;
      const secret = await this.cipher.open({ dataKey: { keyEncryptionKeyId, wrapped }, sealedKey }, identityOf(one));
      return seal(secret, { publicKey: recipient }, purpose);
    });
    return { sealedSecrets: await Promise.all(sealedSecrets) };
  }

  async findSigning(request: FindSigningWorkspacesRequest): Promise<FindSigningWorkspacesResponse> {
    return { workspaceIds: await this.repository.findSigning(request.organizationId, request.workspaceIds) };
  }
}

function identityOf({
  id,
  organizationId,
  workspaceId,
}: Pick<StoredWebhookSecret, 'id' | 'organizationId' | 'workspaceId'>): WebhookSecretIdentity {
  return { kind: 'webhook-secret', id, organizationId, workspaceId };
}
