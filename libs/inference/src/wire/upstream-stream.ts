/** The body of a 2xx answer as it arrives. */
export interface UpstreamStream {
  /** The bytes since the last read, or null at the end of the body. Throws AppError; see `isAbandoned`. */
  read(): Promise<Buffer | null>;
  /**
   * The caller has disconnected: the body goes on within the bounds of leftover reads, or the call ends. Returns how
   * many output tokens are worth reading on for, 0 where it has ended. A pending `read` resolves to an empty buffer.
   */
  leave(): number;
  /** Ends the upstream call; harmless when it is over. A pending `read` resolves to null. */
  cancel(): void;
  /** Nothing more of the body is wanted. The connection is kept if the body ends shortly, else closed. */
  discard(): void;
}
