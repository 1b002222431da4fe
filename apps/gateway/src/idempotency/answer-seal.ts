import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '@libs/errors';
import type { IdempotencySlot } from './idempotency-keys.repository';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** How a request and its answer are stored. */
export interface AnswerKeeper {
  /** Returns 32 bytes that distinguish one request from another and reveal nothing else. */
  digest(body: Buffer): Buffer;
  keep(answer: Buffer): Buffer;
  /** @throws AppError server if the data was not stored for this slot and caller */
  read(kept: Buffer): Buffer;
}

/** Keeper for requests and answers without a secret: stores them unencrypted. */
export const PLAIN_ANSWERS: AnswerKeeper = {
  digest: (body) => createHash('sha256').update(body).digest(),
  keep: (answer) => answer,
  read: (kept) => kept,
};

/**
 * Returns a keeper for requests and answers that contain a secret. Without the credential that the caller sends with
 * every request, they cannot be read from the database, not even by the operator; the database has only the
 * credential's hash. An answer is sealed with AES-256-GCM for its slot, with a key derived from the credential (HKDF,
 * RFC 5869), and a keyed digest distinguishes the request from others. Another credential gives another digest, so the
 * same request of another caller counts as a different one.
 */
export function sealedAnswers(credential: string, { organizationId, route, keyHash }: IdempotencySlot): AnswerKeeper {
  const slot = Buffer.concat([Buffer.from(`${organizationId} ${route} `), keyHash]);
  const keyFor = (use: string): Buffer =>
    Buffer.from(hkdfSync('sha256', credential, slot, `idempotency ${use}`, KEY_BYTES));
  return {
    digest: (body) => createHmac('sha256', keyFor('request')).update(body).digest(),
    keep: (answer) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keyFor('answer'), nonce, { authTagLength: TAG_BYTES }).setAAD(slot);
      return Buffer.concat([nonce, cipher.update(answer), cipher.final(), cipher.getAuthTag()]);
    },
    read: (kept) => {
      try {
        const nonce = kept.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, keyFor('answer'), nonce, { authTagLength: TAG_BYTES }).setAAD(slot);
        decipher.setAuthTag(kept.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(kept.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch (cause) {
        throw new AppError('server', 'Internal error', { internal: 'a kept answer could not be opened', cause });
      }
    },
  };
}
