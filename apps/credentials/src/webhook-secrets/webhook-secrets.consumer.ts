import { Controller } from '@nestjs/common';
import {
  FindSigningWorkspaces,
  FindSigningWorkspacesRequest,
  OpenWebhookSecrets,
  RotateWebhookSecret,
  WebhookSecretRequest,
  type FindSigningWorkspacesResponse,
  type OpenedWebhookSecrets,
  type RotatedWebhookSecret,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { WebhookSecretsService } from './webhook-secrets.service';

@Controller()
export class WebhookSecretsConsumer {
  constructor(private readonly secrets: WebhookSecretsService) {}

  @Handles(RotateWebhookSecret)
  rotate(request: WebhookSecretRequest): Promise<RotatedWebhookSecret> {
    return this.secrets.rotate(request);
  }

  @Handles(OpenWebhookSecrets)
  open(request: WebhookSecretRequest): Promise<OpenedWebhookSecrets> {
    return this.secrets.open(request);
  }

  @Handles(FindSigningWorkspaces)
  findSigning(request: FindSigningWorkspacesRequest): Promise<FindSigningWorkspacesResponse> {
    return this.secrets.findSigning(request);
  }
}
