import { Controller } from '@nestjs/common';
import {
  CreateCredential,
  CreateCredentialRequest,
  CredentialReference,
  DeleteCredential,
  GetCredential,
  ListCredentials,
  ListCredentialsRequest,
  UpdateCredential,
  UpdateCredentialRequest,
  type CredentialDeleted,
  type CredentialRecord,
  type ListCredentialsResponse,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { CredentialsService } from './credentials.service';

@Controller()
export class CredentialsConsumer {
  constructor(private readonly credentials: CredentialsService) {}

  @Handles(CreateCredential)
  create(request: CreateCredentialRequest): Promise<CredentialRecord> {
    return this.credentials.create(request);
  }

  @Handles(ListCredentials)
  list(request: ListCredentialsRequest): Promise<ListCredentialsResponse> {
    return this.credentials.list(request);
  }

  @Handles(GetCredential)
  get(reference: CredentialReference): Promise<CredentialRecord> {
    return this.credentials.get(reference);
  }

  @Handles(UpdateCredential)
  update(request: UpdateCredentialRequest): Promise<CredentialRecord> {
    return this.credentials.update(request);
  }

  @Handles(DeleteCredential)
  delete(reference: CredentialReference): Promise<CredentialDeleted> {
    return this.credentials.delete(reference);
  }
}
