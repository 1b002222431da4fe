import { intakePurpose, type IntakeKey, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { keyIdOf, SealingKeyPair } from '@libs/platform';
import type { RingKey } from './key-ring';
import { deriveKey } from './sealed-bytes';

const PURPOSE = 'sluice credentials: sealing of keys that come in';

/**
 * The key pairs to which raw keys are sealed on their way in. They are derived from the key-encryption keys,
 * so every credentials process with the same ring opens what was sealed for any of them, and nothing has to be
 * kept; the two uses of a key share no bytes of it.
 */
export class IntakeKeys {
  readonly current: IntakeKey;
  readonly #pairs: ReadonlyMap<string, SealingKeyPair>;

  /** The first key is the current one. */
  constructor(ring: readonly [RingKey, ...RingKey[]]) {
    this.#pairs = new Map(ring.map(({ id, key }) => [id, SealingKeyPair.fromSeed(deriveKey(key, PURPOSE))]));
    const [{ id: keyId }] = ring;
    this.current = { keyId, publicKey: this.#pairs.get(keyId)!.publicKey };
  }

  /** @throws AppError `conflict` for what was sealed to a key that is not in the ring */
  async open(sealedKey: string, organizationId: string): Promise<Secret> {
    const pair = this.#pairs.get(keyIdOf(sealedKey) ?? '');
    if (pair === undefined) throw new AppError('conflict', 'The key was sealed to a key that is gone; try again');
    return pair.open(sealedKey, intakePurpose(organizationId));
  }
}
