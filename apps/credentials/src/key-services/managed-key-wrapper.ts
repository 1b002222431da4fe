import { KeyWrapper, type WrappedKey } from './key-wrapper';
import type { ManagedKey } from './managed-key';

/** Wraps data keys with one key of a key management service. */
export class ManagedKeyWrapper extends KeyWrapper {
  constructor(
    override readonly currentKeyId: string,
    private readonly key: ManagedKey,
  ) {
    super();
  }

  override async wrap(dataKey: Buffer, context: string): Promise<WrappedKey> {
    return { keyEncryptionKeyId: this.currentKeyId, wrapped: await this.key.encrypt(dataKey, context) };
  }

  override async unwrap({ wrapped }: WrappedKey, context: string): Promise<Buffer> {
    return this.key.decrypt(wrapped, context);
  }
}
