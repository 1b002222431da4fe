import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import type { SealedExchange, SealingJwk } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { SigningKey } from './signing-keys';

/** PKCS #8 around the 32 bytes of an X25519 key (RFC 8410 §7). */
const X25519_PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PURPOSE = 'sluice token exchange sealing';
const ANSWER_KEY_BYTES = 32;

interface SealingKey {
  readonly privateKey: KeyObject;
  readonly publicJwk: SealingJwk;
}

/**
 * Keeps subject tokens and access tokens unreadable on their way through the broker: questions are encrypted to
 * a key that every auth process has, answers to one that came within the question.
 *
 * Each key is derived from a signing key (HKDF, RFC 5869) and used for nothing else, so all processes that were
 * given the same signing keys have the same sealing keys, and the two roles never share one.
 */
export class SealingKeys {
  private readonly keys: ReadonlyMap<string, SealingKey>;

  constructor(signingKeys: readonly SigningKey[]) {
    this.keys = new Map(signingKeys.map((key) => [key.keyId, deriveKey(key)]));
  }

  /** What to encrypt to; null without signing keys. */
  get current(): SealingJwk | null {
    return this.keys.values().next().value?.publicJwk ?? null;
  }

  /** @throws AppError precondition_failed for what was encrypted to a key that is not here */
  async open(sealed: string): Promise<SealedExchange> {
    try {
      const { plaintext } = await compactDecrypt(sealed, ({ kid }) => this.keyOf(kid), {
        keyManagementAlgorithms: ['ECDH-ES'],
        contentEncryptionAlgorithms: ['A256GCM'],
      });
      return JSON.parse(Buffer.from(plaintext).toString()) as SealedExchange;
    } catch (cause) {
      throw new AppError('precondition_failed', 'The question was sealed to another key', { cause });
    }
  }

  private keyOf(keyId: string | undefined): KeyObject {
    const key = this.keys.get(keyId ?? '');
    if (key === undefined) throw new Error('no such sealing key');
    return key.privateKey;
  }
}

/** @param answerKey 32 bytes in base64url */
export async function sealAnswer(text: string, answerKey: string): Promise<string> {
  const key = Buffer.from(answerKey, 'base64url');
  if (key.length !== ANSWER_KEY_BYTES) throw new AppError('invalid_request', 'The key of the answer has another size');
  return new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key);
}

function deriveKey({ keyId, scalar }: SigningKey): SealingKey {
  const seed = Buffer.from(hkdfSync('sha256', scalar, Buffer.alloc(0), PURPOSE, 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([X25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { privateKey, publicJwk: { kty: 'OKP', crv: 'X25519', kid: keyId, x } };
}
