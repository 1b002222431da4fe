/** The body of a 2xx answer as it arrives. */
export interface UpstreamStream {
  /**
   * Returns the bytes since the last read, or null at the end of the body. Throws AppError; see `isAbandoned`.
   * @param keptBytes bytes of earlier reads that the reader keeps, such as an event that has arrived in part. While all
   * streams together keep too many, only the oldest of those that keep much is read on.
   */
  read(keptBytes?: number): Promise<Buffer | null>;
  /**
   * Handles that the caller has disconnected: the body is read on within the limits of leftover reads, or the call
   * ends. Returns the most output tokens to read on for; 0 if it has ended. A pending `read` resolves to an empty
   * buffer.
   */
  leave(): number;
  /** Ends the upstream call; has no effect if it is over. A pending `read` resolves to null. */
  cancel(): void;
  /** Drops the rest of the body. The connection is kept if the body ends soon; otherwise it is closed. */
  discard(): void;
}
