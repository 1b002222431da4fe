import type { JsonObject } from '@libs/json';
import type { EmbeddingsDto } from '@libs/contracts';
import type { AppError } from '@libs/errors';
import type { Endpoint } from '../catalogue/catalogue';
import type { CallableApi, StreamableApi } from '../dialects/dialect-pairs';
import type { CallerTranslation } from '../dialects/translation';
import type { ExpectedOutput } from '../model/expected-output';
import type { AllowedUses, ProviderTool } from '../pricing/tool-uses';
import type { AnswerView } from './answer-view';
import type { CallerApi } from './caller-api';
import type { ContentInput } from './content-input';
import type { ReadFile } from './answer-source';
import type { FilePart } from './file-part';
import type { StreamEvents } from './stream-events';
import type { UnansweredCall } from './unanswered-call';

/** The fields that validated bodies of all APIs may use to describe the model. */
export interface CallBody {
  readonly provider?: EmbeddingsDto['provider'] | undefined;
  readonly model?: string | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly fallbacks?: readonly { readonly model: string }[] | null | undefined;
  readonly route?: string | null | undefined;
}

/**
 * An API that has JSON bodies with text: the class of its body, and everything that other code must know about it. Code
 * outside `apis` asks the definition and does not compare API names.
 */
export interface ApiDefinition extends CallerApi {
  readonly name: CallableApi;
  readonly body: new () => CallBody;
  /** True if a prompt that is too long gets an empty answer marked as cut short; false if it gets an error. */
  readonly cutsLongPrompts: boolean;
  /** True if the model's output is reserved, capped and charged. */
  readonly generates: boolean;
  /** True if a request without a model uses the default model of its workspace. */
  readonly hasDefaultModel: boolean;
  /** Whether a request may name further models as `fallbacks`. */
  readonly hasFallbacks: boolean;
  /** Returns the answers that a validated body asks for, and their size. */
  readonly outputOf: (body: JsonObject) => ExpectedOutput;
  /** Returns the uses of a provider's tools that a body may make, and the compactions that it may lead to. */
  readonly toolUsesOf: (body: JsonObject) => readonly AllowedUses[];
  /** Returns the calls that a request is split into at an endpoint; absent if it is always one. */
  readonly callsAt?: (endpoint: Endpoint, answers: number, bodyBytes: number) => number;
  /** Returns the output tokens to expect at an endpoint for an answer without a cap. */
  readonly uncappedTokensAt: (endpoint: Endpoint) => number;
  /** Returns the tokens that must fit into a model's context together. */
  readonly contextTokensOf: (body: JsonObject, promptTokens: number) => number;
  readonly contentInputOf: (body: JsonObject) => ContentInput;
}

/** An API whose answers are text and can be streamed. */
export interface ConversationApi extends ApiDefinition {
  readonly name: StreamableApi;
  readonly generates: true;
  /** Reads requests into the canonical model and writes answers from it. */
  readonly caller: CallerTranslation;
  readonly turns: TurnsView;
  readonly answer: AnswerView;
  readonly stream: StreamEvents;
  readonly tools: ToolRules;
  /**
   * Fields that say what to answer and that no other API has. A request with one of them needs an endpoint with this
   * API.
   */
  readonly untranslatable: readonly string[];
  /** Returns all events of a stream that failed before its first. */
  readonly failureEvents: (call: UnansweredCall, error: AppError) => Buffer;
}

/** Names the request field that holds the turns of the conversation, and reads them. */
export interface TurnsView {
  readonly member: 'input' | 'messages';
  /** The `type` of a text part in a user's turn. */
  readonly textType: 'text' | 'input_text';
  /** Returns the file in a part of a turn; null for other parts, and for a file that is stored at a provider. */
  readonly fileOf: (part: JsonObject) => FilePart | null;
  /** The files of an earlier answer in a turn; absent for APIs whose answers cannot hold files. */
  readonly answeredFiles?: {
    readonly in: (turn: JsonObject) => readonly ReadFile[];
    /** Returns the turn without them. */
    readonly takenFrom: (turn: JsonObject) => JsonObject;
  };
}

/** How requests name tools that the gateway or a provider runs. */
export interface ToolRules {
  /** Types of the tools that the caller runs; undefined: a tool without a type. Other tools are run by a provider. */
  readonly callerTypes: ReadonlySet<unknown>;
  /** True if a tool of the gateway may be named without the service prefix. */
  readonly takesPlainNames: boolean;
  /** True if a gateway tool under its plain name may be left to a provider that has the same tool. */
  readonly leavesPlainNames: boolean;
  /** Returns whether answers report the number of uses of a provider's tool. */
  readonly countsUses: (tool: ProviderTool) => boolean;
  /** True if answers contain items for tool uses. */
  readonly showsItems: boolean;
  /** True if a whole answer that broke off becomes an error; the output before that is dropped. */
  readonly failsWhole: boolean;
}
