import { Matches } from 'class-validator';
import { API_KEY_HASH, Principal } from '../keys/keys.messages';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { SECRET_HASH } from './authorization-codes.messages';

/** How long a user stays signed in on the consent page, in seconds. */
export const CONSENT_SESSION_SECONDS = 3_600;

/** A session of the consent page, by the SHA-256 of its cookie. */
export class ConsentSessionReference {
  @Matches(SECRET_HASH)
  sessionHash: string;
}

export class OpenConsentSessionRequest extends ConsentSessionReference {
  @Matches(API_KEY_HASH)
  keyHash: string;
}

export class ConsentSessionOpened {
  /** False if the key is not a usable management key; the caller does not learn why. */
  opened: boolean;
}

/** Signs in with a management key. */
export const OpenConsentSession = call({
  queue: queues.auth,
  name: 'auth.open-consent-session',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: OpenConsentSessionRequest,
  response: ConsentSessionOpened,
});

export class ConsentSessionFound {
  /** Null if there is no such session, it has ended, or its key can no longer be used. */
  principal: Principal | null;
}

/** Returns who is signed in. */
export const FindConsentSession = call({
  queue: queues.auth,
  name: 'auth.find-consent-session',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: ConsentSessionReference,
  response: ConsentSessionFound,
});

export class ConsentSessionClosed {
  closed: true;
}

/** Signs out; a session that is not there is closed already. */
export const CloseConsentSession = call({
  queue: queues.auth,
  name: 'auth.close-consent-session',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: ConsentSessionReference,
  response: ConsentSessionClosed,
});

export const consentSessionContracts = [OpenConsentSession, FindConsentSession, CloseConsentSession];
