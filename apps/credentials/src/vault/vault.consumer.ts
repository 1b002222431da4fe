import { Controller } from '@nestjs/common';
import {
  FindOwnCredentials,
  FindOwnCredentialsRequest,
  GetIntakeKey,
  NoteKeyVerdict,
  NoteKeyVerdictRequest,
  OpenCredential,
  OpenCredentialRequest,
  RewrapCredentials,
  RewrapCredentialsRequest,
  type FindOwnCredentialsResponse,
  type IntakeKey,
  type KeyVerdictNoted,
  type OpenedCredential,
  type RewrapCredentialsResponse,
} from '@libs/contracts';
import { Handles, MessageContext } from '@libs/platform';
import { IntakeKeys } from './intake-keys';
import { KeyVerdictsService } from './key-verdicts.service';
import { OpeningService } from './opening.service';
import { RewrappingService } from './rewrapping.service';

@Controller()
export class VaultConsumer {
  constructor(
    private readonly intakeKeys: IntakeKeys,
    private readonly opening: OpeningService,
    private readonly rewrapping: RewrappingService,
    private readonly verdicts: KeyVerdictsService,
  ) {}

  @Handles(GetIntakeKey)
  getIntakeKey(): Promise<IntakeKey> {
    return this.intakeKeys.current();
  }

  @Handles(FindOwnCredentials)
  findOwn(request: FindOwnCredentialsRequest): Promise<FindOwnCredentialsResponse> {
    return this.opening.findOwn(request);
  }

  @Handles(OpenCredential)
  open(request: OpenCredentialRequest, { asker }: MessageContext): Promise<OpenedCredential> {
    return this.opening.open(request, asker!);
  }

  @Handles(NoteKeyVerdict)
  noteVerdict(request: NoteKeyVerdictRequest): Promise<KeyVerdictNoted> {
    return this.verdicts.note(request);
  }

  @Handles(RewrapCredentials)
  rewrap(request: RewrapCredentialsRequest): Promise<RewrapCredentialsResponse> {
    return this.rewrapping.rewrapPage(request);
  }
}
