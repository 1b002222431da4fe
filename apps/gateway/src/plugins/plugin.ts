import type { AppError } from '@libs/errors';
import type { AnswerSource, Model, PipelineStage, StreamableApi } from '@libs/inference';
import type { GenerationSearch } from '@libs/persistence';
import type { OutsideWork } from '../parsers/outside-work';
import type { Fields } from '../server-tools/named-tools';
import type { AnswerBody } from './answer-body';
import type { RequestBody } from './request-body';

/** What a plugin may know of the request that it works on. */
export interface PluginContext extends OutsideWork {
  readonly api: StreamableApi;
  /** The first of the request's models; null for one that is not in the catalogue. */
  readonly model: Model | null;
  /** The model as the request names it. */
  readonly modelSlug: string;
  /** The caller's cap on the answer, or null. */
  readonly maxTokens: number | null;
}

/** The kind and the name of a stage, whatever comes of it. */
export type StageName = Pick<PipelineStage, 'type' | 'name'>;

/** What a plugin made of a request. */
export interface Preparation {
  readonly body: RequestBody;
  /** What the metadata says of it. */
  readonly stage: PipelineStage;
  /** Why the request goes no further. */
  readonly refusal?: AppError;
  /** The search of the web that was made, for the record of the call. */
  readonly search?: GenerationSearch;
  /** What the answer is to cite. */
  readonly sources?: readonly AnswerSource[];
}

/** A question to a model of this service. */
export interface ModelQuestion {
  /** Its slug. */
  readonly model: string;
  /** Of a chat. */
  readonly messages: readonly object[];
  readonly maxTokens: number;
}

/** Asks a model on the bill of the call. Resolves with a whole chat completion. @throws AppError when there is none */
export type AskModel = (question: ModelQuestion) => Promise<Buffer>;

/** A call that a provider has answered. */
export interface ReviewedCall {
  /** Whole, as the provider gave it. */
  readonly answer: Buffer;
  /** As it was sent. */
  readonly request: RequestBody;
  readonly ask: AskModel;
}

/** What a plugin found about an answer. */
export interface Review {
  readonly stage: PipelineStage;
  /** Members that the answer gets. */
  readonly shown: Fields;
  /** What the caller gets in its place; it is charged all the same. */
  readonly refusal?: AppError;
}

/** A plugin as one request set it up. */
export interface BoundPlugin {
  /** Its stage in the metadata. */
  readonly stage: StageName;
  /** What `prepare` may cost the caller at most, in pico-dollars; nothing when absent. */
  readonly mostPicoUsd?: bigint;
  /** The service that `prepare` sends words of the request to, where it may keep them; it begins a sentence. */
  readonly keeper?: string | undefined;
  /** Whether `prepare` puts text in the place of files, which no provider is sent then. */
  replacesFiles?(context: PluginContext): boolean;
  /** Looks at the request before anything is done for it. @throws AppError invalid_request where it cannot work on such */
  check?(api: StreamableApi, parsed: Fields): void;
  /**
   * Works on the request before it is routed. Null when there is nothing to do.
   *
   * @throws AppError where the plugin cannot do its part
   */
  prepare?(body: RequestBody, context: PluginContext): Promise<Preparation | null>;
  /** Judges a whole answer before it is charged; throws nothing. Null when there is nothing to say. */
  review?(reviewed: ReviewedCall, context: PluginContext): Promise<Review | null>;
  /** Works on a whole answer; streamed answers are left alone. Null when there is nothing to do. */
  finish?(answer: AnswerBody, request: RequestBody, context: PluginContext): Promise<PipelineStage | null>;
}

/** Changes a request or its answer, if the request asks for it (`plugins[]`). One file each, one registry line. */
export interface Plugin {
  readonly id: string;
  /**
   * Sets the plugin up for one request. `settings` is its entry in the request.
   *
   * @throws AppError invalid_request naming the member, `path` in front
   */
  bind(settings: Fields, path: string): BoundPlugin;
}
