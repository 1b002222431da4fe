import type { Principal } from '@libs/contracts';
import type { Cancellation, OwnCredential, PromptEstimate } from '@libs/inference';
import type { CallMemory } from '../http/fetched-bytes';
import type { MeasuredPdfs } from '../parsers/pdf-meter';
import type { CallClient } from './call-client';

/** A caller's request as it came in. */
export interface IncomingCall {
  readonly generationId: string;
  readonly caller: Principal;
  readonly body: Buffer;
  readonly parsed: unknown;
  /** An estimate of the prompt of `body`, if its reader made one. */
  readonly prompt?: PromptEstimate | undefined;
  /** The PDF files of the call that were measured; absent where none were. */
  readonly pdfs?: MeasuredPdfs;
  /** The header `X-Session-Id`; the body's `session_id` wins over it. */
  readonly sessionId?: string | null;
  /** Betas of Anthropic's API, as the header lists them. */
  readonly betas?: string | undefined;
  /** The caller's own provider keys as its hold was made for; absent where they were not at hand. */
  readonly ownKeys?: readonly OwnCredential[] | undefined;
  /** The client as it names itself; absent if it does not. */
  readonly client?: CallClient;
  /** Aborted when the caller has left or the process must stop; also by the service, when the money is refused. */
  readonly abort: Cancellation;
  /** Reserves memory for content that is fetched for the call. */
  readonly memory: CallMemory;
}
