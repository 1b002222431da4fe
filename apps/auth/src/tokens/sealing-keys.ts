import { hkdfSync } from 'node:crypto';
import { EXCHANGE_PURPOSE, Secret, type SealedExchange, type SealingJwk } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { keyIdOf, seal, SealingKeyPair } from '@libs/platform';
import type { SigningKey } from './signing-keys';

const DERIVATION = 'sluice token exchange sealing';
const SEED_BYTES = 32;
const PUBLIC_KEY_BYTES = 32;

/**
 * Encrypts subject tokens and access tokens for transport through the broker: requests with a key that every auth
 * process has, responses with a key from the request.
 *
 * Each pair is derived from a signing key (HKDF, RFC 5869) and used for nothing else. So all processes with the same
 * signing keys have the same sealing keys, and signing and sealing never share a key.
 */
export class SealingKeys {
  private readonly pairs: ReadonlyMap<string, SealingKeyPair>;

  constructor(signingKeys: readonly SigningKey[]) {
    this.pairs = new Map(signingKeys.map((key) => [key.keyId, derivePair(key)]));
  }

  /** The public key to seal to; null without signing keys. */
  get current(): SealingJwk | null {
    const first = this.pairs.entries().next().value;
    return first === undefined ? null : { kty: 'OKP', crv: 'X25519', kid: first[0], x: first[1].publicKey };
  }

  /** @throws AppError precondition_failed for data that was sealed to a key that is not present */
  async open(sealed: string): Promise<SealedExchange> {
    try {
      const exchange = await this.pairs.get(keyIdOf(sealed) ?? '')?.open(sealed, EXCHANGE_PURPOSE);
      if (exchange !== undefined) return JSON.parse(exchange.reveal()) as SealedExchange;
    } catch (cause) {
      throw new AppError('precondition_failed', REFUSAL, { cause });
    }
    throw new AppError('precondition_failed', REFUSAL);
  }
}

const REFUSAL = 'The question was sealed to another key';

/** @param replyKey 32 bytes in base64url */
export async function sealAnswer(text: string, replyKey: string): Promise<string> {
  if (Buffer.from(replyKey, 'base64url').length !== PUBLIC_KEY_BYTES) {
    throw new AppError('invalid_request', 'The key of the answer has another size');
  }
  return seal(new Secret(text), { publicKey: replyKey }, EXCHANGE_PURPOSE);
}

function derivePair({ scalar }: SigningKey): SealingKeyPair {
  return SealingKeyPair.fromSeed(Buffer.from(hkdfSync('sha256', scalar, Buffer.alloc(0), DERIVATION, SEED_BYTES)));
}
