import type { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import { keyRefusalOf } from '../providers/upstream-error';
import type { CredentialScope, CredentialSource } from './credential-source';
import type { Candidate } from './planned-route';

/** Passes on what calls say of the keys of callers' own that they are made with. */
export class KeyOutcomes {
  /** With which key a candidate was called last. */
  readonly #keys = new WeakMap<Candidate, Secret>();

  constructor(private readonly credentials: Pick<CredentialSource, 'noteVerdict'>) {}

  calledWith(candidate: Candidate, key: Secret | null): void {
    if (candidate.credential && key) this.#keys.set(candidate, key);
  }

  /** @param error why there was no answer; null where there was one, which is news of a key that was refused before */
  note(candidate: Candidate, scope: CredentialScope, error: AppError | null): void {
    const { credential } = candidate;
    const key = this.#keys.get(candidate);
    if (!credential || key === undefined) return;
    const verdict = error === null ? 'accepted' : keyRefusalOf(error);
    if (verdict === null || (verdict === 'accepted' && credential.wasRefused !== true)) return;
    this.credentials.noteVerdict(credential, key, scope, verdict);
  }
}
