import type { Principal } from '@libs/contracts';
import type { AnswerSource, CancelSignal, RoutingPreferences, ToolDefinition, ToolResultPart } from '@libs/inference';
import type { AskedCall, GenerationSearch } from '@libs/persistence';
import type { OwnKeyCost } from '../generations/own-key-cost';
import type { OutsideWork } from '../parsers/outside-work';

/** Facts about the request for which a tool runs. */
export interface ToolContext extends OutsideWork {
  readonly caller: Principal;
  readonly generationId: string;
  /** The data rules in the request's field `provider`. */
  readonly preferences?: RoutingPreferences;
  /** The only links that may be followed if nothing of the request may be stored; otherwise absent. */
  readonly callerLinks?: ReadonlySet<string>;
  /**
   * Aborted when the result is no longer needed. An aborted tool throws or returns at once. A tool that calls a
   * provider may read on within the terms of `cancellation`; it then returns the cost.
   */
  readonly signal: AbortSignal;
  /** Cancellation for calls of the engine; follows `signal`. */
  readonly cancellation: CancelSignal;
}

/** The result of one use of a tool. */
export interface ToolOutcome {
  /** The content that the model gets. */
  readonly parts: ToolResultPart['parts'];
  /** True if the tool failed. `parts` tell the model, which may continue without the result. */
  readonly isError: boolean;
  /** Fields of the answer's output item other than `type`, `id` and `status`. */
  readonly item: Readonly<Record<string, unknown>>;
  /** Sources for the answer's text; their offsets are set by the code that places them. */
  readonly sources?: readonly AnswerSource[];
  /** The web search that was made, for the record of the call. */
  readonly search?: GenerationSearch;
  /** Pictures for the caller, as data URLs or links; shown if the caller's API has no output items. */
  readonly images?: readonly string[];
  /** Functions that the model may call from its next turn on. */
  readonly tools?: readonly ToolDefinition[];
  /** What this use costs the caller, in pico-dollars. */
  readonly costPicoUsd: bigint;
  /**
   * Set if a provider was called with the caller's own key: what its owner pays there, and the part of the cost that is
   * our fee.
   */
  readonly ownKey?: OwnKeyCost;
  /** The model that was asked with the operator's key, for the record of the call. */
  readonly asked?: AskedCall;
}

/** A tool with the settings of one request; it may count its uses. */
export interface BoundTool {
  /** How the model sees it: a function. */
  readonly definition: ToolDefinition;
  /** Fields that the output item must have before there is a result; absent: none. */
  readonly pendingItem?: ToolOutcome['item'];
  /** The most that one use with these arguments may cost the caller, in pico-dollars; absent: nothing. */
  readonly mostPicoUsd?: bigint | ((args: unknown) => bigint);
  /**
   * Name of an external service that may store the text which a use sends to it; used as the beginning of a sentence.
   */
  readonly keeper?: string | undefined;
  /** Longest time of one use; a minute if absent. */
  readonly timeoutMs?: number;
  /**
   * Runs the tool once. `args` is the parsed JSON that the model wrote, which may be anything.
   *
   * Problems with the tool or its arguments are a result with `isError`; a thrown error ends the request.
   */
  run(args: unknown, context: ToolContext): Promise<ToolOutcome>;
}

/** Facts about the request that a tool may use when it is set up. */
export interface ToolSurroundings {
  /** The caller's functions that the model does not see until it finds them. */
  readonly deferred: readonly ToolDefinition[];
  /** The workspace's default model for pictures. */
  readonly imageModel?: string | undefined;
}

/** A tool that the gateway runs itself during an answer. Each tool is one file and one line in the registry. */
export interface ServerTool {
  /** The name after `<service>:` in the request's list of tools, e.g. `web_fetch`. */
  readonly name: string;
  /** Other names, without the service prefix, e.g. `web_search`. */
  readonly aliases?: readonly string[];
  /** False if this installation lacks what the tool needs, so that it cannot be used; absent: true. */
  readonly isReady?: boolean;
  /**
   * True if a request that names the tool without prefix, and does not require it, is answered without it where nothing
   * can run it.
   */
  readonly isOptional?: boolean;
  /**
   * Sets the tool up for one request. `parameters` is the entry's settings object, empty if it has none.
   * @throws AppError invalid_request with the name of the field after `path`
   */
  bind(parameters: Readonly<Record<string, unknown>>, path: string, surroundings?: ToolSurroundings): BoundTool;
}

/** Returns the outcome of a use that failed, with one sentence for the model. */
export function failedUse(reason: string, item: ToolOutcome['item'] = {}, costPicoUsd = 0n): ToolOutcome {
  return { parts: [{ type: 'text', text: reason }], isError: true, item, costPicoUsd };
}
