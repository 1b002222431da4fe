import type { AppError } from '@libs/errors';
import type { AnswerSource, Model, PipelineStage, ReadFile, StreamableApi } from '@libs/inference';
import type { GenerationSearch } from '@libs/persistence';
import type { OutsideWork } from '../parsers/outside-work';
import type { Fields } from '../server-tools/named-tools';
import type { AnswerBody } from './answer-body';
import type { RequestBody } from './request-body';

/** Facts about the request that a plugin may use. */
export interface PluginContext extends OutsideWork {
  readonly api: StreamableApi;
  /** The first of the request's models; null if it is not in the catalogue. */
  readonly model: Model | null;
  /** The model as the request names it. */
  readonly modelSlug: string;
  /** The caller's cap on the answer, or null. */
  readonly maxTokens: number | null;
}

/** The kind and name of a stage, without its result. */
export type StageName = Pick<PipelineStage, 'type' | 'name'>;

/** The changes of a plugin to a request. */
export interface Preparation {
  readonly body: RequestBody;
  /** The stage as the metadata shows it. */
  readonly stage: PipelineStage;
  /** Why the request goes no further. */
  readonly refusal?: AppError;
  /** The web search that was made, for the record of the call. */
  readonly search?: GenerationSearch;
  /** The sources that the answer must cite. */
  readonly sources?: readonly AnswerSource[];
  /** The files whose text the answer gives to the caller. */
  readonly files?: readonly ReadFile[];
}

/** A request of a plugin to a model of this service. */
export interface ModelQuestion {
  /** Slug of the model. */
  readonly model: string;
  /** The messages of a chat request. */
  readonly messages: readonly object[];
  readonly maxTokens: number;
}

/** Asks a model at the expense of the call. Resolves with a whole chat completion. @throws AppError if there is none */
export type AskModel = (question: ModelQuestion) => Promise<Buffer>;

/** A call that a provider has answered. */
export interface ReviewedCall {
  /** Whole, as the provider gave it. */
  readonly answer: Buffer;
  /** The request as it was sent. */
  readonly request: RequestBody;
  readonly ask: AskModel;
}

/** A plugin's verdict on an answer. */
export interface Review {
  readonly stage: PipelineStage;
  /** Members that the answer gets. */
  readonly shown: Fields;
  /** The error that the caller gets instead of the answer, which is charged nevertheless. */
  readonly refusal?: AppError;
  /** True if another answer to the request may be judged in place of the refused one. */
  readonly mayAskAgain?: boolean;
}

/** A plugin with the settings of one request. */
export interface BoundPlugin {
  /** The plugin's stage in the metadata. */
  readonly stage: StageName;
  /** The most that `prepare` may cost the caller, in pico-dollars; nothing if absent. */
  readonly mostPicoUsd?: bigint;
  /**
   * Name of an external service that may store the text which `prepare` sends to it; used as the beginning of a
   * sentence.
   */
  readonly keeper?: string | undefined;
  /** True if `prepare` replaces files by text, so that they are not sent to a provider. */
  replacesFiles?(context: PluginContext): boolean;
  /**
   * Checks the request before anything is done for it.
   * @throws AppError invalid_request if the plugin cannot handle it
   */
  check?(api: StreamableApi, parsed: Fields): void;
  /**
   * Changes the request before it is routed. Null if there is nothing to do.
   * @throws AppError if the plugin fails
   */
  prepare?(body: RequestBody, context: PluginContext): Promise<Preparation | null>;
  /**
   * Judges a whole answer before it is charged; never throws. Null if it has no verdict. Called again for each further
   * answer that it lets the gateway ask for.
   */
  review?(reviewed: ReviewedCall, context: PluginContext): Promise<Review | null>;
  /** Changes a whole answer; streamed answers are not changed. Null if there is nothing to do. */
  finish?(answer: AnswerBody, request: RequestBody, context: PluginContext): Promise<PipelineStage | null>;
}

/**
 * Changes a request or its answer, if the request asks for it (`plugins[]`). Each plugin is one file and one line in
 * the registry.
 */
export interface Plugin {
  readonly id: string;
  /**
   * Creates the plugin for one request. `settings` is its entry in the request.
   * @throws AppError invalid_request with the name of the field after `path`
   */
  bind(settings: Fields, path: string): BoundPlugin;
}
