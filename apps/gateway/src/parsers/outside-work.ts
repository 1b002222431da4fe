/** The part of a process's memory that one call may take for what comes from outside. */
export interface CallMemory {
  /**
   * Takes so many bytes more. Returns undefined when that is done, else a promise.
   *
   * @throws AppError provider_overloaded when there is no room within a short time, at once or by the promise
   */
  add(bytes: number): Promise<void> | undefined;
  /** Gives bytes back that were added. What is left is given back when the call is over. */
  give(bytes: number): void;
}

/** For whom content from outside is fetched and parsed, from what memory, and until when. */
export interface OutsideWork {
  /** The narrowest first: a workspace, then its organization. */
  readonly holders: readonly string[];
  readonly memory: CallMemory;
  /** Aborted when nobody waits for the content any more. */
  readonly signal: AbortSignal;
}
