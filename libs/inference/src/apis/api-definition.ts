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
import type { FilePart } from './file-part';
import type { StreamEvents } from './stream-events';
import type { UnansweredCall } from './unanswered-call';

/** What checked bodies of all APIs may say of the model. */
export interface CallBody {
  readonly provider?: EmbeddingsDto['provider'] | undefined;
  readonly model?: string | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly fallbacks?: readonly { readonly model: string }[] | null | undefined;
  readonly route?: string | null | undefined;
}

/**
 * One API that has JSON bodies of text: the declaration of its body, and all that the system has to know of it. Code
 * outside `apis` asks the definition and does not compare names.
 */
export interface ApiDefinition extends CallerApi {
  readonly name: CallableApi;
  readonly body: new () => CallBody;
  /** Whether a prompt that is too long is answered with an empty answer that was cut, not with an error. */
  readonly cutsLongPrompts: boolean;
  /** Whether the model writes something that is reserved, capped and charged. */
  readonly generates: boolean;
  /** Whether a request without a model means the default model of its workspace. */
  readonly hasDefaultModel: boolean;
  /** Reads what a checked body says of the size of its answers. */
  readonly outputOf: (body: JsonObject) => ExpectedOutput;
  /** Returns the uses of a provider's tools that a body may make, and the compactions that it may lead to. */
  readonly toolUsesOf: (body: JsonObject) => readonly AllowedUses[];
  /** Returns the output tokens to expect at an endpoint of an answer without a cap. */
  readonly uncappedTokensAt: (endpoint: Endpoint) => number;
  /** Returns the tokens that must fit the context of a model together. */
  readonly contextTokensOf: (body: JsonObject, promptTokens: number) => number;
  readonly contentInputOf: (body: JsonObject) => ContentInput;
}

/** An API whose answers are text and can be streamed. */
export interface ConversationApi extends ApiDefinition {
  readonly name: StreamableApi;
  readonly generates: true;
  /** Reads requests to the canonical model and writes answers from it. */
  readonly caller: CallerTranslation;
  readonly turns: TurnsView;
  readonly answer: AnswerView;
  readonly stream: StreamEvents;
  readonly tools: ToolRules;
  /** Members that say what is asked and that no other API has: only an endpoint that speaks this API can be asked. */
  readonly untranslatable: readonly string[];
  /** Returns all events of a stream that failed before its first. */
  readonly failureEvents: (call: UnansweredCall, error: AppError) => Buffer;
}

/** Names the field of a request that holds its turns, and how to read them. */
export interface TurnsView {
  readonly member: 'input' | 'messages';
  /** The type of a text that a user says. */
  readonly textType: 'text' | 'input_text';
  /** Returns the file of a part of a turn; null for other parts, and for a file that only its provider has. */
  readonly fileOf: (part: JsonObject) => FilePart | null;
}

/** How requests name tools that the gateway or a provider runs. */
export interface ToolRules {
  /** Whether a tool of ours may be named without the prefix of the service. */
  readonly takesPlainNames: boolean;
  /** Whether tools that only a provider can run are refused where no endpoint runs them. */
  readonly listsProviderTools: boolean;
  /** Whether a tool of an unknown type needs an endpoint that speaks this API. */
  readonly passesUnknownTypes: boolean;
  /** Whether a tool of ours under a plain name may be left to a provider that has it too. */
  readonly leavesPlainNames: boolean;
  /** Returns whether answers count the uses of a provider's tool. */
  readonly countsUses: (tool: ProviderTool) => boolean;
  /** Whether answers have items for the uses of tools. */
  readonly showsItems: boolean;
  /** Whether a whole answer that broke off becomes an error, without what came before. */
  readonly failsWhole: boolean;
}
