/** A key-encryption key that a key management service holds: bytes go to it, it never comes here. */
export interface ManagedKey {
  /**
   * @param plain at most 64 bytes
   * @param context bound to the result
   */
  encrypt(plain: Buffer, context: string): Promise<Buffer>;

  /** @throws AppError `server` where the service refuses, provider_unavailable where it does not answer */
  decrypt(encrypted: Buffer, context: string): Promise<Buffer>;
}
