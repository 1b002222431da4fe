import { Injectable } from '@nestjs/common';
import {
  CONSENT_SESSION_SECONDS,
  type ConsentSessionClosed,
  type ConsentSessionFound,
  type ConsentSessionOpened,
  type ConsentSessionReference,
  type OpenConsentSessionRequest,
  type Principal,
} from '@libs/contracts';
import { KeysService } from '../keys/keys.service';
import { ConsentSessionsRepository } from './consent-sessions.repository';

/**
 * Knows who is signed in on the consent page. The key is checked on every request: a revoked one signs its holder out.
 */
@Injectable()
export class ConsentSessionsService {
  constructor(
    private readonly repository: ConsentSessionsRepository,
    private readonly keys: KeysService,
  ) {}

  async open({ sessionHash, keyHash }: OpenConsentSessionRequest): Promise<ConsentSessionOpened> {
    if ((await this.managerOf(keyHash)) === null) return { opened: false };
    await this.repository.insertSession(sessionHash, keyHash, CONSENT_SESSION_SECONDS);
    return { opened: true };
  }

  async find({ sessionHash }: ConsentSessionReference): Promise<ConsentSessionFound> {
    const keyHash = await this.repository.findKeyHash(sessionHash);
    return { principal: keyHash === null ? null : await this.managerOf(keyHash) };
  }

  async close({ sessionHash }: ConsentSessionReference): Promise<ConsentSessionClosed> {
    await this.repository.deleteSession(sessionHash);
    return { closed: true };
  }

  private async managerOf(keyHash: string): Promise<Principal | null> {
    const { principal } = await this.keys.verify(keyHash);
    return principal?.kind === 'management' ? principal : null;
  }
}
