import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';

const KEY_AGREEMENT = 'ECDH-ES';
const CONTENT_ENCRYPTION = 'A256GCM';
/** PKCS #8 around the 32 bytes of an X25519 private key (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** The recipient of a sealed text. */
export interface SealingTarget {
  /** 32 bytes of an X25519 public key in base64url. */
  readonly publicKey: string;
  /** Names the key among several of the recipient. */
  readonly keyId?: string;
}

/** The X25519 key pair of a recipient, which can decrypt what is sealed to it (RFC 7748). */
export class SealingKeyPair {
  readonly publicKey: string;
  readonly #privateKey: KeyObject;

  private constructor(privateKey: KeyObject) {
    this.#privateKey = privateKey;
    this.publicKey = createPublicKey(privateKey).export({ format: 'jwk' }).x!;
  }

  static generate(): SealingKeyPair {
    return new SealingKeyPair(generateKeyPairSync('x25519').privateKey);
  }

  /** Returns the key pair of 32 secret bytes, always the same for the same bytes. */
  static fromSeed(seed: Buffer): SealingKeyPair {
    const key = Buffer.concat([PKCS8_HEAD, seed]);
    return new SealingKeyPair(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
  }

  /**
   * Decrypts what was sealed to this pair for this purpose.
   * @throws AppError `server` for anything else: another recipient or purpose, or a changed byte
   */
  async open(sealed: string, purpose: string): Promise<Secret> {
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(sealed, this.#privateKey, {
        keyManagementAlgorithms: [KEY_AGREEMENT],
        contentEncryptionAlgorithms: [CONTENT_ENCRYPTION],
      });
      if (protectedHeader.apv !== partyInfo(purpose)) throw new Error('sealed for another purpose');
      return new Secret(Buffer.from(plaintext).toString());
    } catch (cause) {
      throw new AppError('server', 'Internal error', { internal: 'a sealed text could not be opened', cause });
    }
  }
}

/**
 * Returns a text that only the holder of the target's private key can read: a compact JWE (RFC 7516) by key agreement
 * with an ephemeral key pair (ECDH-ES, RFC 7518 §4.6) and AES-256-GCM. The purpose is part of the agreement, so that a
 * text sealed for one purpose cannot be opened for another.
 */
export async function seal(secret: Secret, { publicKey, keyId }: SealingTarget, purpose: string): Promise<string> {
  const target = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: publicKey }, format: 'jwk' });
  return new CompactEncrypt(Buffer.from(secret.reveal()))
    .setProtectedHeader({ alg: KEY_AGREEMENT, enc: CONTENT_ENCRYPTION, ...(keyId !== undefined && { kid: keyId }) })
    .setKeyManagementParameters({ apv: Buffer.from(purpose) })
    .encrypt(target);
}

/** The purpose as the header holds it (`apv`, RFC 7518 §4.6.1.3). */
function partyInfo(purpose: string): string {
  return Buffer.from(purpose).toString('base64url');
}

/** Returns the `kid` of a sealed text; undefined if it has none or is not a sealed text. */
export function keyIdOf(sealed: string): string | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(sealed.slice(0, sealed.indexOf('.')), 'base64url').toString());
    const { kid } = (header ?? {}) as { readonly kid?: unknown };
    return typeof kid === 'string' ? kid : undefined;
  } catch {
    return undefined;
  }
}
