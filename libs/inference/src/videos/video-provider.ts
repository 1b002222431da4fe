import type { JsonObject } from '@libs/json';
import type { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { CancelSignal } from '../model/cancellation';
import type { Endpoint } from '../catalogue/catalogue';
import type { UpstreamStream } from '../wire/upstream-stream';

/** A picture, sound or video that is used to make a video. */
export interface VideoMedia {
  readonly kind: 'image' | 'audio' | 'video';
  /** E.g. `image/png`. */
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** A requested video with every default filled in, so that exactly what is requested is charged. */
export interface VideoRequest {
  readonly prompt: string | null;
  readonly durationSeconds: number;
  /** Name that callers use, e.g. `1080p`. */
  readonly resolution: string;
  /** E.g. `16:9`. */
  readonly aspectRatio: string;
  /** Width in pixels. */
  readonly width: number;
  readonly height: number;
  readonly generateAudio: boolean;
  readonly firstFrame: VideoMedia | null;
  readonly lastFrame: VideoMedia | null;
  readonly references: readonly VideoMedia[];
  readonly seed: number | null;
  readonly creativity: number | null;
  readonly upscaleFactor: number | null;
  /** Fields for this provider only, sent unchanged. */
  readonly options: JsonObject;
  /** The finished job whose video this one continues. */
  readonly continues: VideoOperation | null;
}

/**
 * The data that a request for a job's state needs: JSON without a secret, stored with the job. The provider's id of the
 * job, in the field `id`, is always enough.
 */
export type VideoOperation = JsonObject;

/** The endpoint to call, the key and the timeouts. */
export interface VideoAccess {
  readonly endpoint: Endpoint;
  /** Null for providers that need no key. */
  readonly apiKey: Secret | null;
  readonly signal: CancelSignal;
  /** The timeouts of each call, in milliseconds. */
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** The definite answer of a provider to a submission. An uncertain outcome is thrown as an error. */
export type VideoStart =
  | { readonly kind: 'accepted'; readonly operation: VideoOperation }
  /** There is no job, and nothing will be charged. */
  | { readonly kind: 'refused'; readonly error: AppError };

/**
 * Where one finished video is: at a path of the provider, for which its key is needed; at a public link; or in the
 * reply to a request for the job's state, as the video with this number.
 */
export type VideoOutput =
  | { readonly path: string }
  | { readonly url: string }
  | { readonly answer: VideoOperation; readonly index: number };

export type VideoStatus =
  | { readonly state: 'pending' }
  | { readonly state: 'in_progress' }
  | {
      readonly state: 'completed';
      /** At least one output. */
      readonly outputs: readonly VideoOutput[];
      /** Token count of providers that charge by tokens. */
      readonly completionTokens?: number;
    }
  | {
      readonly state: 'failed' | 'cancelled' | 'expired';
      /** Fit to be shown. */
      readonly message: string;
    };

/** A finished video: its bytes, or a public link to them. */
export type OpenedVideo =
  | { readonly kind: 'stream'; readonly stream: UpstreamStream }
  | { readonly kind: 'link'; readonly url: string };

/**
 * Makes videos in jobs that continue after a connection ends. Like every adapter it throws only AppError, and no error,
 * operation or output contains a key.
 */
export interface VideoApi {
  /**
   * Submits a job. `reference` is the same for every try of one job. If the endpoint's catalogue entry says that its
   * provider supports idempotency keys, a repeated submission with it does not create a second job.
   * @throws AppError if it is unknown whether the provider accepted it: no answer, or one that cannot be read
   */
  start(request: VideoRequest, access: VideoAccess, reference: string): Promise<VideoStart>;

  /**
   * Searches the account's jobs for one that was submitted with this reference; returns null if the list does not
   * contain it. Absent if the provider's list does not show references.
   * @throws AppError if the list cannot be read, or not to its end
   */
  find?(reference: string, access: VideoAccess): Promise<VideoOperation | null>;

  status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus>;

  open(output: VideoOutput, access: VideoAccess): Promise<OpenedVideo>;
}
