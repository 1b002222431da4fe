import type { Principal } from '@libs/contracts';
import type { Cancellation, OwnCredential, PromptEstimate } from '@libs/inference';
import type { CallMemory } from '../http/fetched-bytes';
import type { MeasuredPdfs } from '../parsers/pdf-meter';
import type { CallClient } from './call-client';

/** A caller's request as it came in. */
export interface IncomingCall {
  readonly generationId: string;
  /** When the request began to arrive, in milliseconds of `performance.now`. */
  readonly arrivedMs: number;
  readonly caller: Principal;
  readonly body: Buffer;
  readonly parsed: unknown;
  /** An estimate of the prompt of `body`, if the code that read it made one. */
  readonly prompt?: PromptEstimate | undefined;
  /** The measured PDF files of the call; absent if there are none. */
  readonly pdfs?: MeasuredPdfs;
  /** The header `X-Session-Id`; the body's `session_id` has precedence. */
  readonly sessionId?: string | null;
  /** Betas of Anthropic's API, in the form of the header. */
  readonly betas?: string | undefined;
  /** The caller's own provider keys for which the hold was made; absent if they were not loaded. */
  readonly ownKeys?: readonly OwnCredential[] | undefined;
  /** How the client describes itself; absent if it does not. */
  readonly client?: CallClient;
  /**
   * Aborted when the caller has disconnected or the process must stop; also by the service, if the payment is refused.
   */
  readonly abort: Cancellation;
  /** Reserves memory for content that is downloaded for the call. */
  readonly memory: CallMemory;
}
