import { AppError } from '@libs/errors';
import type { RingKey } from './key-ring';
import { KeyWrapper, type WrappedKey } from '../key-services/key-wrapper';
import { deriveKey, openBytes, sealBytes } from './sealed-bytes';

const PURPOSE = 'sluice credentials: wrapping of data keys';

/** Key-encryption keys that this process was given. */
export class LocalKeyWrapper extends KeyWrapper {
  override readonly currentKeyId: string;
  // A JavaScript private field, so that neither inspection nor JSON shows its content.
  readonly #keys: ReadonlyMap<string, Buffer>;

  /** The first key is the current one. */
  constructor(ring: readonly [RingKey, ...RingKey[]]) {
    super();
    this.currentKeyId = ring[0].id;
    this.#keys = new Map(ring.map(({ id, key }) => [id, deriveKey(key, PURPOSE)]));
  }

  override async wrap(dataKey: Buffer, context: string): Promise<WrappedKey> {
    const keyEncryptionKeyId = this.currentKeyId;
    const key = this.#keys.get(keyEncryptionKeyId)!;
    return { keyEncryptionKeyId, wrapped: sealBytes(key, dataKey, bound(keyEncryptionKeyId, context)) };
  }

  override async unwrap({ keyEncryptionKeyId, wrapped }: WrappedKey, context: string): Promise<Buffer> {
    const key = this.#keys.get(keyEncryptionKeyId);
    if (key === undefined) throw unusable('its key-encryption key is not in the ring');
    try {
      return openBytes(key, wrapped, bound(keyEncryptionKeyId, context));
    } catch (cause) {
      throw unusable('its data key does not open', cause);
    }
  }
}

function bound(keyId: string, context: string): string {
  return JSON.stringify([keyId, context]);
}

function unusable(reason: string, cause?: unknown): AppError {
  return new AppError('server', 'Internal error', { internal: `a credential cannot be opened: ${reason}`, cause });
}
