import { createPublicKey, randomBytes } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import type { SealedExchange, SealingJwk } from '@libs/contracts';
import { AppError } from '@libs/errors';

/** A question that the auth app alone can read, and the key to its answer. */
export interface SealedQuestion {
  readonly sealed: string;
  readonly answerKey: Buffer;
}

const ANSWER_KEY_BYTES = 32;

/** Encrypts a subject token for its way through the broker (ECDH-ES and A256GCM, RFC 7518). */
export async function sealExchange(subjectToken: string, sealingKey: SealingJwk): Promise<SealedQuestion> {
  const answerKey = randomBytes(ANSWER_KEY_BYTES);
  const exchange: SealedExchange = { subjectToken, replyKey: answerKey.toString('base64url') };
  const sealed = await new CompactEncrypt(Buffer.from(JSON.stringify(exchange)))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: sealingKey.kid })
    .encrypt(createPublicKey({ key: { kty: sealingKey.kty, crv: sealingKey.crv, x: sealingKey.x }, format: 'jwk' }));
  return { sealed, answerKey };
}

/** The access token in an answer. @throws AppError server for an answer to another question */
export async function openAnswer(sealedToken: string, answerKey: Buffer): Promise<string> {
  try {
    const { plaintext } = await compactDecrypt(sealedToken, answerKey, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return Buffer.from(plaintext).toString();
  } catch (cause) {
    throw new AppError('server', 'Internal error', { cause, internal: 'an access token could not be unsealed' });
  }
}
