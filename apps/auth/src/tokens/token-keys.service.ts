import { Inject, Injectable } from '@nestjs/common';
import type { TokenKeys } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { SealingKeys } from './sealing-keys';
import type { SigningKey } from './signing-keys';

/** DI token of the parsed `TOKEN_SIGNING_KEYS`, the key that signs first. */
export const SIGNING_KEYS = Symbol('signing keys');

/** The keys to sign, verify and seal with. */
@Injectable()
export class TokenKeysService {
  readonly sealingKeys: SealingKeys;

  constructor(@Inject(SIGNING_KEYS) private readonly signingKeys: readonly SigningKey[]) {
    this.sealingKeys = new SealingKeys(signingKeys);
  }

  get published(): TokenKeys {
    return { signingKeys: this.signingKeys.map(({ publicJwk }) => publicJwk), sealingKey: this.sealingKeys.current };
  }

  /** @throws AppError provider_unavailable if the installation has no signing keys */
  requireSigningKey(): SigningKey {
    const key = this.signingKeys[0];
    if (key !== undefined) return key;
    const internal = 'TOKEN_SIGNING_KEYS is not set';
    throw new AppError('provider_unavailable', 'Access tokens cannot be signed', { internal });
  }
}
