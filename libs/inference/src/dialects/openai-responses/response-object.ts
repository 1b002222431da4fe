import { parseJson } from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import type { AnswerContext } from '../dialect';
import type { ResponseFailure } from './error';
import { ToolNames } from './tool-names';
import { type IncompleteReason, type ResponseStatus } from './stop-reason';
import { unixSeconds } from '../../model/unix-seconds';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The settings of a request that its response repeats, with defaults for absent ones. */
export interface ResponseEcho {
  readonly id: string;
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly settings: JsonObject;
  readonly toolNames: ToolNames;
  /** The caller asks for encrypted thoughts, to send them back. */
  readonly wantsSeals: boolean;
}

/** The parts of a response that change while it is produced. */
export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly object[];
  readonly completedAt?: number;
  readonly incompleteReason?: IncompleteReason | null;
  readonly failure?: ResponseFailure;
  readonly usage?: object;
  /** The tier by the upstream's name. */
  readonly serviceTier?: string | undefined;
}

const DEFAULTS: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: null,
  parallel_tool_calls: true,
  presence_penalty: null,
  frequency_penalty: null,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: null,
};

/** Settings that a response repeats only if the caller set them. */
const OPTIONAL = ['prompt', 'prompt_cache_key', 'prompt_cache_options', 'reasoning', 'safety_identifier', 'user'];

/** Fields of a request that its response repeats. */
export const REPEATED_SETTINGS: readonly string[] = [...Object.keys(DEFAULTS), ...OPTIONAL];

/** The parts of a request's context that its response is written from. */
export interface EchoSource extends Pick<AnswerContext, 'generationId' | 'requestBody'> {
  readonly model: { readonly slug: string };
}

export function readEcho(
  { generationId, model, requestBody }: EchoSource,
  createdAt: number | null,
  request = parseJson(requestBody) as JsonObject,
): ResponseEcho {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(DEFAULTS)) settings[name] = memberOf(request, name) ?? value;
  for (const name of OPTIONAL) {
    const value = memberOf(request, name);
    if (value !== undefined && value !== null) settings[name] = value;
  }
  return {
    id: generationId,
    model: model.slug,
    createdAt: createdAt ?? unixSeconds(),
    settings,
    toolNames: new ToolNames(request),
    wantsSeals: includesOutput(request, SEALED_THOUGHTS),
  };
}

/** The value of `include` that asks for encrypted thoughts. */
export const SEALED_THOUGHTS = 'reasoning.encrypted_content';

/** Returns whether a request asks for this additional output. */
export function includesOutput({ include }: JsonObject, output: string): boolean {
  return Array.isArray(include) && include.includes(output);
}

function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Returns a response object with every field that the API requires. */
export function responseObject({ id, model, createdAt, settings }: ResponseEcho, state: ResponseState): object {
  const { output, completedAt = null, usage, serviceTier } = state;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: completedAt,
    background: false,
    ...outcomeMembers(state),
    model,
    output,
    previous_response_id: null,
    store: false,
    ...settings,
    service_tier: serviceTier === undefined ? null : tierWord(serviceTier),
    ...(usage && { usage }),
  };
}

function outcomeMembers({ status, incompleteReason = null, failure }: ResponseState): object {
  const reason = failure ? failure.incompleteReason : incompleteReason;
  return {
    status: failure?.status ?? status,
    error: failure?.error ?? null,
    ...(failure?.errorType && { error_type: failure.errorType }),
    incomplete_details: reason === null ? null : { reason },
  };
}
