/** A key-encryption key in a key management service: data is sent to it, and the key never leaves the service. */
export interface ManagedKey {
  /**
   * @param plain at most 64 bytes
   * @param context bound to the result
   */
  encrypt(plain: Buffer, context: string): Promise<Buffer>;

  /** @throws AppError `server` if the service refuses, provider_unavailable if it does not answer */
  decrypt(encrypted: Buffer, context: string): Promise<Buffer>;
}
