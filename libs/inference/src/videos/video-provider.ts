import type { JsonObject } from '@libs/json';
import type { Secret } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { CancelSignal } from '../model/cancellation';
import type { Endpoint } from '../catalogue/catalogue';
import type { UpstreamStream } from '../wire/upstream-stream';

/** A picture, sound or film that goes into a video. */
export interface VideoMedia {
  readonly kind: 'image' | 'audio' | 'video';
  /** E.g. `image/png`. */
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** A video as it is asked for, with every default filled in, so that what is asked is what is paid for. */
export interface VideoRequest {
  readonly prompt: string | null;
  readonly durationSeconds: number;
  /** As callers name it, e.g. `1080p`. */
  readonly resolution: string;
  /** E.g. `16:9`. */
  readonly aspectRatio: string;
  /** In points. */
  readonly width: number;
  readonly height: number;
  readonly generateAudio: boolean;
  readonly firstFrame: VideoMedia | null;
  readonly lastFrame: VideoMedia | null;
  readonly references: readonly VideoMedia[];
  readonly seed: number | null;
  readonly creativity: number | null;
  readonly upscaleFactor: number | null;
  /** Members for this provider alone, sent as they are. */
  readonly options: JsonObject;
  /** The finished job that this one goes on from. */
  readonly continues: VideoOperation | null;
}

/**
 * What a request for a job's state must name: JSON without a secret, stored with the job. Its field `id` is the
 * provider's id of the job, and is enough.
 */
export type VideoOperation = JsonObject;

/** The endpoint to call, the key and the timeouts. */
export interface VideoAccess {
  readonly endpoint: Endpoint;
  /** Null for providers that ask for none. */
  readonly apiKey: Secret | null;
  readonly signal: CancelSignal;
  /** As those of any call, in milliseconds. */
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** The definite answer of a provider to a submission; an uncertain outcome is thrown. */
export type VideoStart =
  | { readonly kind: 'accepted'; readonly operation: VideoOperation }
  /** There is no job, and none will be paid for. */
  | { readonly kind: 'refused'; readonly error: AppError };

/**
 * Where one finished video is: a path at the provider, for which its key is needed, a public link without a key, or
 * the answer to the question after the job, in which it is the video of this number.
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
      /** At least one. */
      readonly outputs: readonly VideoOutput[];
      /** Of providers that charge by tokens. */
      readonly completionTokens?: number;
    }
  | {
      readonly state: 'failed' | 'cancelled' | 'expired';
      /** Fit to be shown. */
      readonly message: string;
    };

/** A finished video: its bytes, or the public link at which they are. */
export type OpenedVideo =
  | { readonly kind: 'stream'; readonly stream: UpstreamStream }
  | { readonly kind: 'link'; readonly url: string };

/**
 * Makes videos in jobs that outlive any connection. Like every adapter it throws AppError and
 * nothing else, and no key is ever part of an error, an operation or an output.
 */
export interface VideoApi {
  /**
   * Submits a job. `reference` is the same for every try of one job; where the endpoint's catalogue entry says that
   * its provider keeps idempotency keys, a repeated submission with it is not a second job.
   *
   * @throws AppError when it is unknown whether the provider took it: no answer, or one that cannot be read
   */
  start(request: VideoRequest, access: VideoAccess, reference: string): Promise<VideoStart>;

  /**
   * Looks for a job among those of the account by the reference it was submitted with; null where the list does not
   * have it. Absent where the provider's list does not show references.
   *
   * @throws AppError when the list cannot be had or not be looked through to its end
   */
  find?(reference: string, access: VideoAccess): Promise<VideoOperation | null>;

  status(operation: VideoOperation, access: VideoAccess): Promise<VideoStatus>;

  open(output: VideoOutput, access: VideoAccess): Promise<OpenedVideo>;
}
