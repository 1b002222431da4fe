import { IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { call, type CallContract } from '../messages/contract';
import { queues } from '../messages/queues';

/**
 * Groups of rows of another app that processes cache: `access` is for whom an API key acts and what it may do,
 * `credentials` are the provider keys of workspaces.
 */
export const FEED_NAMES = ['access', 'credentials'] as const;
export type FeedName = (typeof FEED_NAMES)[number];

/** Most changes in one response or event; a process that missed more drops all that it has cached. */
export const MOST_CHANGES = 1_000;

/** A state of a feed. Two histories with the same revision, such as after a restored backup, have different marks. */
export interface FeedPosition {
  readonly revision: number;
  readonly mark: string;
}

/** Changes from one position to another. */
export interface FeedChanges {
  /** Null if the changes since then are not known: the reader must drop everything that it has cached. */
  readonly since: FeedPosition | null;
  readonly position: FeedPosition;
  /** Hashes of keys and ids of workspaces that changed, each once; empty if `since` is null. */
  readonly subjects: readonly string[];
}

export class ReadChangesRequest {
  /** The last position that was seen; both fields are absent if there is none. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  revision?: number;

  @IsOptional()
  @IsUUID()
  mark?: string;
}

export class ReadChangesResponse implements FeedChanges {
  since: FeedPosition | null;
  position: FeedPosition;
  subjects: readonly string[];
}

/**
 * Returns what changed in `access` since a position. Every process that caches keys calls this a few times per second.
 */
export const ReadAccessChanges = call({
  queue: queues.authChanges,
  name: 'auth-changes.read-access-changes',
  askedBy: ['gateway', 'batch-worker'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: ReadChangesRequest,
  response: ReadChangesResponse,
});

/** Returns what changed in `credentials` since a position. */
export const ReadCredentialChanges = call({
  queue: queues.credentialsChanges,
  name: 'credentials-changes.read-credential-changes',
  askedBy: ['gateway', 'batch-worker', 'video-worker'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: ReadChangesRequest,
  response: ReadChangesResponse,
});

/** The contract that returns the changes of each feed. */
export const CHANGES_OF: Readonly<Record<FeedName, CallContract<ReadChangesRequest, ReadChangesResponse>>> = {
  access: ReadAccessChanges,
  credentials: ReadCredentialChanges,
};

export const feedContracts = [ReadAccessChanges, ReadCredentialChanges];
