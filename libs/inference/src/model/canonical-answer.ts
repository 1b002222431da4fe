import type { AppError } from '@libs/errors';
import type { Annotation, ReasoningPart, RefusalPart, TextPart, ToolCallPart } from './conversation';
import type { FinishReason } from './finish-reason';
import type { BilledUnits } from '../pricing/price';
import type { Usage, UsageDetails } from '../pricing/usage';

export interface TokenLogprob {
  readonly token: string;
  readonly bytes: readonly number[] | null;
  readonly logprob: number;
  readonly top: readonly Omit<TokenLogprob, 'top'>[];
}

/** A generated picture, as a data URL or a link. */
export interface GeneratedImagePart {
  readonly type: 'generated-image';
  readonly url: string;
}

/** A use of a tool, as the model asked for it and read what came of it. */
export interface ToolUseRecord {
  readonly callId: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
  readonly result: string;
}

/** A tool that the gateway itself ran while it answered. No upstream's answer holds one. */
export interface ServerToolPart {
  readonly type: 'server-tool';
  /** Name of the tool without the service prefix, e.g. `web_search`. */
  readonly tool: string;
  /** `type` of the tool's output item, e.g. `<service>:web_search`. */
  readonly itemType: string;
  readonly hasSucceeded: boolean;
  /** Fields of the tool's output item other than `type`, `id` and `status`. */
  readonly item: Readonly<Record<string, unknown>>;
  /** For APIs that have no output items and show the use among the thoughts. */
  readonly record?: ToolUseRecord;
}

export type AnswerPart = TextPart | RefusalPart | ReasoningPart | ToolCallPart | GeneratedImagePart | ServerToolPart;

/** One of the requested answers. */
export interface Choice {
  /** Parts in the order in which the model produced them. */
  readonly parts: readonly AnswerPart[];
  readonly finishReason: FinishReason;
  /** The upstream's own word for it. */
  readonly nativeFinishReason: string | null;
  /** The stop sequence that ended the answer, if the upstream reports it. */
  readonly stopSequence?: string;
  readonly logprobs?: readonly TokenLogprob[];
}

/** A complete answer in the canonical model, independent of any API. */
export interface CanonicalAnswer {
  /** The upstream's own id. */
  readonly upstreamId: string | null;
  /** Unix seconds, if the upstream says. */
  readonly createdAt: number | null;
  readonly choices: readonly Choice[];
  /** Null if the upstream reported no usage. */
  readonly usage: Usage | null;
  /** Units with a price that were used in addition to plain tokens. */
  readonly units?: BilledUnits;
  /** Further details of the usage that the upstream reports. */
  readonly details?: UsageDetails;
  readonly serviceTier?: string;
  readonly systemFingerprint?: string;
  /** Why the answer failed, if its finish reason is `error` and the cause is known. */
  readonly failure?: AppError;
}

/**
 * The events of a streamed answer, in order. Parts are numbered from 0 in the order in which they begin. The events of
 * a part come between its `part-start` and `part-end`. Exactly one `finish` comes last. `usage` comes before it, and
 * more than once if an upstream reports it repeatedly (the last one counts).
 */
export type AnswerEvent =
  | { readonly type: 'start'; readonly upstreamId: string | null; readonly createdAt: number | null }
  | { readonly type: 'part-start'; readonly part: number; readonly kind: 'text' | 'refusal' | 'reasoning' }
  | {
      readonly type: 'part-start';
      readonly part: number;
      readonly kind: 'tool-call';
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'part-start'; readonly part: number; readonly kind: 'generated-image'; readonly url: string }
  | {
      readonly type: 'part-start';
      readonly part: number;
      readonly kind: 'server-tool';
      readonly tool: string;
      readonly itemType: string;
      /** Fields of the tool's output item while the tool runs. */
      readonly item: ServerToolPart['item'];
      /** Present where the tool has run already. */
      readonly record?: ToolUseRecord;
    }
  | {
      readonly type: 'text-delta';
      readonly part: number;
      readonly text: string;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | { readonly type: 'annotation'; readonly part: number; readonly annotation: Annotation }
  | { readonly type: 'reasoning-delta'; readonly part: number; readonly delta: ReasoningDelta }
  | { readonly type: 'tool-arguments-delta'; readonly part: number; readonly arguments: string }
  | {
      readonly type: 'tool-outcome';
      readonly part: number;
      readonly hasSucceeded: boolean;
      readonly item: ServerToolPart['item'];
    }
  | { readonly type: 'part-end'; readonly part: number }
  | {
      readonly type: 'usage';
      readonly usage: Usage;
      readonly units?: BilledUnits;
      /** True if the usage does not include the answer yet. */
      readonly isPromptOnly?: true;
    }
  | {
      readonly type: 'finish';
      readonly finishReason: FinishReason;
      readonly nativeFinishReason: string | null;
      readonly stopSequence?: string;
      readonly serviceTier?: string;
      /** Why the upstream failed, if the finish reason is `error` and the upstream reports it. */
      readonly failure?: AppError;
    };

/** A piece of a thought. Text and summary are appended; the other fields come only once. */
export interface ReasoningDelta {
  readonly text?: string;
  readonly summary?: string;
  readonly signature?: string;
  readonly encrypted?: string;
  readonly id?: string;
  readonly format?: ReasoningPart['format'];
}
