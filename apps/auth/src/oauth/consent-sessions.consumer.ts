import { Controller } from '@nestjs/common';
import {
  CloseConsentSession,
  ConsentSessionReference,
  FindConsentSession,
  OpenConsentSession,
  OpenConsentSessionRequest,
  type ConsentSessionClosed,
  type ConsentSessionFound,
  type ConsentSessionOpened,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { ConsentSessionsService } from './consent-sessions.service';

@Controller()
export class ConsentSessionsConsumer {
  constructor(private readonly sessions: ConsentSessionsService) {}

  @Handles(OpenConsentSession)
  open(request: OpenConsentSessionRequest): Promise<ConsentSessionOpened> {
    return this.sessions.open(request);
  }

  @Handles(FindConsentSession)
  find(reference: ConsentSessionReference): Promise<ConsentSessionFound> {
    return this.sessions.find(reference);
  }

  @Handles(CloseConsentSession)
  close(reference: ConsentSessionReference): Promise<ConsentSessionClosed> {
    return this.sessions.close(reference);
  }
}
