/** A data key that only the holder of a key-encryption key can use. */
export interface WrappedKey {
  /** Id of the key-encryption key. */
  readonly keyEncryptionKeyId: string;
  readonly wrapped: Buffer;
}

/**
 * The key-encryption keys of the installation: a keyring in this process, or a key management service. They never leave
 * that place; data keys are sent to them.
 */
export abstract class KeyWrapper {
  /** Id of the key that wraps new data keys. */
  abstract readonly currentKeyId: string;

  /**
   * @param dataKey 32 bytes
   * @param context bound to the wrapped key: it can be unwrapped only with the same text
   */
  abstract wrap(dataKey: Buffer, context: string): Promise<WrappedKey>;

  /** @throws AppError `server` for a missing key, another context, or a changed byte */
  abstract unwrap(key: WrappedKey, context: string): Promise<Buffer>;
}
