import type { Principal } from '@libs/contracts';
import type {
  AnswerSource,
  CancelSignal,
  Cost,
  RoutingPreferences,
  ToolDefinition,
  ToolResultPart,
} from '@libs/inference';
import type { GenerationSearch } from '@libs/persistence';
import type { OutsideWork } from '../parsers/outside-work';

/** What a tool may know of the request for which it runs. */
export interface ToolContext extends OutsideWork {
  readonly caller: Principal;
  readonly generationId: string;
  /** What the request's `provider` member says of its data. */
  readonly preferences?: RoutingPreferences;
  /** The only links that may be followed, where nothing of the request may be kept; absent elsewhere. */
  readonly callerLinks?: ReadonlySet<string>;
  /**
   * Aborted when the result is no longer needed. An aborted tool throws or returns at once. A tool that calls a provider
   * may read on within the terms of `cancellation`; it then returns the cost.
   */
  readonly signal: AbortSignal;
  /** The same for calls of the engine. */
  readonly cancellation: CancelSignal;
}

/** What a use of a tool cost on the caller's own key. */
export type OwnKeyCost = Required<Pick<Cost, 'upstreamCost' | 'byokFee'>>;

/** What came of one use of a tool. */
export interface ToolOutcome {
  /** What the model reads. */
  readonly parts: ToolResultPart['parts'];
  /** The tool failed. `parts` say so to the model, which may go on without it. */
  readonly isError: boolean;
  /** The members of the output item in the answer other than `type`, `id` and `status`. */
  readonly item: Readonly<Record<string, unknown>>;
  /** Sources for the answer's text; the code that places them sets their offsets. */
  readonly sources?: readonly AnswerSource[];
  /** The search of the web that was made, for the record of the call. */
  readonly search?: GenerationSearch;
  /** Pictures for the caller, as data URLs or links; shown where the caller's API has no output items. */
  readonly images?: readonly string[];
  /** Functions that the model may call from its next turn on. */
  readonly tools?: readonly ToolDefinition[];
  /** What this use costs the caller, in pico-dollars. */
  readonly costPicoUsd: bigint;
  /** Where a provider was asked with the caller's own key: what its owner pays there, and what of the cost is our fee. */
  readonly ownKey?: OwnKeyCost;
}

/** A tool as one request set it up; it may count its uses. */
export interface BoundTool {
  /** How the model sees it: a function. */
  readonly definition: ToolDefinition;
  /** Members that the output item must have before there is an outcome; none when absent. */
  readonly pendingItem?: ToolOutcome['item'];
  /** What one use with such arguments may cost the caller at most, in pico-dollars; nothing when absent. */
  readonly mostPicoUsd?: bigint | ((args: unknown) => bigint);
  /** The service that a use sends words of the conversation to, where it may keep them; it begins a sentence. */
  readonly keeper?: string | undefined;
  /** How long one use may take; a minute when absent. */
  readonly timeoutMs?: number;
  /**
   * One use. `args` is the parsed JSON that the model wrote, which may be anything.
   *
   * What goes wrong with the tool or its arguments is an outcome with `isError`; an error that is thrown ends
   * the request.
   */
  run(args: unknown, context: ToolContext): Promise<ToolOutcome>;
}

/** What a tool may know of the request that sets it up. */
export interface ToolSurroundings {
  /** Functions of the caller's that the model does not see until it finds them. */
  readonly deferred: readonly ToolDefinition[];
  /** The model of pictures that the caller's workspace has set. */
  readonly imageModel?: string | undefined;
}

/** A tool that the gateway runs itself while it answers. One file each, one registry line. */
export interface ServerTool {
  /** Behind `<service>:` in the request's tool list, e.g. `web_fetch`. */
  readonly name: string;
  /** Aliases without the service's prefix that mean the same, e.g. `web_search`. */
  readonly aliases?: readonly string[];
  /** False where this installation lacks what the tool works with, so that it cannot be set up; true when absent. */
  readonly isReady?: boolean;
  /** True where a request that names the tool plainly, and may do without it, is answered without it. */
  readonly isOmitted?: boolean;
  /**
   * Sets the tool up for one request. `parameters` is the entry's own settings object, empty where there is none.
   *
   * @throws AppError invalid_request naming the member, `path` in front
   */
  bind(parameters: Readonly<Record<string, unknown>>, path: string, surroundings?: ToolSurroundings): BoundTool;
}

/** Returns the outcome of a use that failed, with one sentence for the model. */
export function failedUse(reason: string, item: ToolOutcome['item'] = {}, costPicoUsd = 0n): ToolOutcome {
  return { parts: [{ type: 'text', text: reason }], isError: true, item, costPicoUsd };
}
