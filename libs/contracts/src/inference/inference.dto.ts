import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { findCacheControlProblem } from './cache-control';
import { IsStoredText } from '../organizations/member-rules';
import { findPromptCacheOptionsProblem, findTraceProblem } from '../responses/responses-settings';
import { findStopConditionsProblem } from '../responses/responses-tools';
import { findProviderPreferencesProblem, type ProviderPreferences } from '../routing/provider-preferences';
import { IsWellFormed, isNull } from '../validation/well-formed';

export const MAX_MODEL_LENGTH = 256;
export const MAX_OUTPUT_TOKENS = 10_000_000;

const NUMBER = { allowInfinity: false, allowNaN: false };

/** Fields of every inference request: where it may be routed, and for whom it is. */
export class InferenceDto {
  /** Each name is stored with the call. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(32)
  @IsStoredText(MAX_MODEL_LENGTH, { each: true })
  @MinLength(1, { each: true })
  models?: string[] | null;

  @IsOptional()
  @IsWellFormed(findProviderPreferencesProblem)
  provider?: ProviderPreferences | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  session_id?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  user?: string | null;

  @IsWellFormed(isNull(' must be null: there are no presets here, send their settings with the request'))
  preset?: null;
}

/**
 * Fields that all text requests share. Such a request is validated, never rebuilt: an upstream with the same API gets
 * the caller's bytes, including unknown fields. A provider may accept these fields in any of the APIs.
 */
export class RelayedDto extends InferenceDto {
  @IsOptional()
  @IsWellFormed(findTraceProblem)
  trace?: object | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  safety_identifier?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(1_024)
  prompt_cache_key?: string | null;
}

/** Fields that chat completions, responses and messages share. */
export class ConversationDto extends RelayedDto {
  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @IsNumber(NUMBER)
  @Min(0)
  @Max(2)
  temperature?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  @Min(0)
  @Max(1)
  top_p?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  top_k?: number | null;

  /** Most turns in which the gateway's own tools are used; applies if nothing else says when they end. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(30)
  max_tool_calls?: number | null;

  @IsOptional()
  @IsWellFormed(findStopConditionsProblem)
  stop_server_tools_when?: object[] | null;

  /** An older way to say `provider.sort.partition`. */
  @IsOptional()
  @IsIn(['fallback', 'sort'])
  route?: string | null;
}

/** Further fields that the two APIs of OpenAI share. */
export class OpenAiConversationDto extends ConversationDto {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  top_logprobs?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  @Min(-2)
  @Max(2)
  frequency_penalty?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  @Min(-2)
  @Max(2)
  presence_penalty?: number | null;

  @IsOptional()
  @IsBoolean()
  parallel_tool_calls?: boolean | null;

  @IsOptional()
  @IsIn(['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast'])
  service_tier?: string | null;

  @IsOptional()
  @IsObject()
  image_config?: object | null;

  @IsOptional()
  @IsWellFormed(findPromptCacheOptionsProblem)
  prompt_cache_options?: object | null;

  @IsOptional()
  @IsWellFormed(findCacheControlProblem)
  cache_control?: object | null;
}
