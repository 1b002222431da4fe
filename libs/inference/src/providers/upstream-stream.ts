/** The body of a 2xx answer as it arrives. */
export interface UpstreamStream {
  /** The bytes since the last read, or null at the end of the body. Throws AppError. */
  read(): Promise<Buffer | null>;
  /** Ends the upstream call; harmless when it is over. A pending `read` resolves to null. */
  cancel(): void;
  /** Nothing more of the body is wanted. The connection is kept if the body ends shortly, else closed. */
  discard(): void;
}
