/** From submission to an end. */
export type VideoStatusName = 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired';

/**
 * What is to be done next while a job is open. `submitting` means that the provider may have been asked already: from
 * there only a submission that cannot become a second job may follow.
 */
export type VideoStep = 'submit' | 'submitting' | 'poll';

/** How large a video is. */
export interface VideoDimensions {
  readonly resolution: string;
  readonly aspectRatio: string;
  readonly width: number;
  readonly height: number;
}

/** One kept video of a job. */
export interface KeptVideo {
  /** Its name in the store. */
  readonly key: string;
  readonly contentType: string;
  readonly bytes: number;
}
