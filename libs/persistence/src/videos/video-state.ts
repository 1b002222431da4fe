/** The status of a job from submission to its end. */
export type VideoStatusName = 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired';

/**
 * The next step of an open job. `submitting` means that the provider may already have been called: after that, only a
 * submission that cannot create a second job may follow.
 */
export type VideoStep = 'submit' | 'submitting' | 'poll';

/** How large a video is. */
export interface VideoDimensions {
  readonly resolution: string;
  readonly aspectRatio: string;
  readonly width: number;
  readonly height: number;
}

/** One stored video of a job. */
export interface KeptVideo {
  /** Its name in the store. */
  readonly key: string;
  readonly contentType: string;
  readonly bytes: number;
}
