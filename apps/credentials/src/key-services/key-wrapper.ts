/** A data key that only the holder of a key-encryption key can use. */
export interface WrappedKey {
  /** Of the key-encryption key. */
  readonly keyEncryptionKeyId: string;
  readonly wrapped: Buffer;
}

/**
 * The key-encryption keys of the installation: a ring in this process, or a key management service. They
 * never leave their place; data keys come to them.
 */
export abstract class KeyWrapper {
  /** What new data keys are wrapped with. */
  abstract readonly currentKeyId: string;

  /**
   * @param dataKey 32 bytes
   * @param context bound to the wrapped key: it is unwrapped with the same text and with no other
   */
  abstract wrap(dataKey: Buffer, context: string): Promise<WrappedKey>;

  /** @throws AppError `server` for a key that is not there, another context, or a changed byte */
  abstract unwrap(key: WrappedKey, context: string): Promise<Buffer>;
}
