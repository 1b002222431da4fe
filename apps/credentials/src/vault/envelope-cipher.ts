import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeyWrapper, type WrappedKey } from '../key-services/key-wrapper';
import { deriveKey, openBytes, sealBytes } from './sealed-bytes';

/** The owner of a key. A key sealed for one identity opens for no other. */
export interface CredentialIdentity {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly provider: string;
}

/** Identifies the workspace of a webhook secret. */
export interface WebhookSecretIdentity {
  readonly kind: 'webhook-secret';
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

export type SealedIdentity = CredentialIdentity | WebhookSecretIdentity;

/** A provider's key or a webhook secret at rest. */
export interface SealedKey {
  readonly dataKey: WrappedKey;
  /** `v1.<commitment>.<nonce, ciphertext and tag>` in base64url. */
  readonly sealedKey: string;
}

const VERSION = 'v1';
const DATA_KEY_BYTES = 32;
const CONTENT_PURPOSE = 'sluice credentials: encryption of a key';
const COMMITMENT_PURPOSE = 'sluice credentials: commitment to a data key';

/**
 * Envelope encryption: every key has its own random data key, the data key is wrapped with a key-encryption key of the
 * installation, and both are bound to the identity of the row. A row that was copied over another, or whose tenant was
 * changed, cannot be decrypted.
 *
 * AES-GCM alone does not prove which key encrypted a text: there are texts that decrypt with two keys. So a commitment
 * is derived from the data key and compared before anything is decrypted (key commitment, RFC 9771).
 */
@Injectable()
export class EnvelopeCipher {
  constructor(private readonly keys: KeyWrapper) {}

  async seal(key: Secret, identity: SealedIdentity): Promise<SealedKey> {
    const context = contextOf(identity);
    const dataKey = randomBytes(DATA_KEY_BYTES);
    const sealed = sealBytes(deriveKey(dataKey, CONTENT_PURPOSE), Buffer.from(key.reveal()), context);
    const parts = [deriveKey(dataKey, COMMITMENT_PURPOSE), sealed].map((part) => part.toString('base64url'));
    return { dataKey: await this.keys.wrap(dataKey, context), sealedKey: [VERSION, ...parts].join('.') };
  }

  /** @throws AppError `server` for anything that `seal` did not return for this identity */
  async open({ dataKey: wrapped, sealedKey }: SealedKey, identity: SealedIdentity): Promise<Secret> {
    const context = contextOf(identity);
    const dataKey = await this.keys.unwrap(wrapped, context);
    const [version, commitment = '', sealed = '', ...more] = sealedKey.split('.');
    const expected = deriveKey(dataKey, COMMITMENT_PURPOSE);
    const found = Buffer.from(commitment, 'base64url');
    const isWhole = version === VERSION && more.length === 0 && isEncoded(commitment) && isEncoded(sealed);
    if (!isWhole || found.length !== expected.length || !timingSafeEqual(found, expected)) {
      throw unusable('its text is not one of this data key');
    }
    try {
      const plain = openBytes(deriveKey(dataKey, CONTENT_PURPOSE), Buffer.from(sealed, 'base64url'), context);
      return new Secret(plain.toString());
    } catch (cause) {
      throw unusable('its text does not open', cause);
    }
  }

  /** Wraps the same data key with the current key-encryption key; the sealed key is not changed. */
  async rewrap(wrapped: WrappedKey, identity: SealedIdentity): Promise<WrappedKey> {
    const context = contextOf(identity);
    return this.keys.wrap(await this.keys.unwrap(wrapped, context), context);
  }
}

function contextOf(identity: SealedIdentity): string {
  const { id, organizationId, workspaceId } = identity;
  if ('kind' in identity) return JSON.stringify([VERSION, identity.kind, id, workspaceId, organizationId]);
  return JSON.stringify([VERSION, 'byok', id, workspaceId, organizationId, identity.provider]);
}

/** Returns whether the text is canonical base64url; the decoder would ignore invalid characters and left-over bits. */
function isEncoded(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text;
}

function unusable(reason: string, cause?: unknown): AppError {
  return new AppError('server', 'Internal error', { internal: `a credential cannot be opened: ${reason}`, cause });
}
