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
import { IsStoredText } from '../organizations/member-rules';
import { findStopConditionsProblem } from '../responses/responses-tools';
import { IsWellFormed } from '../validation/well-formed';
import { findProviderPreferencesProblem, type ProviderPreferences } from '../routing/provider-preferences';
import {
  findMessagesProblem,
  findMetadataProblem,
  findResponseFormatProblem,
  findStopProblem,
  findToolsProblem,
} from './chat-messages';

export const MAX_OUTPUT_TOKENS = 10_000_000;

/**
 * `POST /chat/completions` and the body of a batch line on it. Validated, never rebuilt: the caller's bytes
 * go upstream, members we do not know included.
 */
export class ChatCompletionDto {
  /** Stored with the call, as each of `models` may be. */
  @IsOptional()
  @IsStoredText(256)
  @MinLength(1)
  model?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(32)
  @IsStoredText(256, { each: true })
  @MinLength(1, { each: true })
  models?: string[] | null;

  @IsWellFormed(findMessagesProblem)
  messages: object[];

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @IsObject()
  stream_options?: object | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_tokens?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_completion_tokens?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(128)
  n?: number | null;

  @IsOptional()
  @IsNumber({ allowInfinity: false, allowNaN: false })
  @Min(0)
  @Max(2)
  temperature?: number | null;

  @IsOptional()
  @IsNumber({ allowInfinity: false, allowNaN: false })
  @Min(0)
  @Max(1)
  top_p?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  top_k?: number | null;

  @IsOptional()
  @IsNumber({ allowInfinity: false, allowNaN: false })
  @Min(-2)
  @Max(2)
  frequency_penalty?: number | null;

  @IsOptional()
  @IsNumber({ allowInfinity: false, allowNaN: false })
  @Min(-2)
  @Max(2)
  presence_penalty?: number | null;

  @IsOptional()
  @IsInt()
  seed?: number | null;

  @IsOptional()
  @IsBoolean()
  logprobs?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  top_logprobs?: number | null;

  @IsOptional()
  @IsObject()
  logit_bias?: object | null;

  @IsOptional()
  @IsWellFormed(findStopProblem)
  stop?: string | string[] | null;

  @IsOptional()
  @IsWellFormed(findToolsProblem)
  tools?: object[] | null;

  @IsOptional()
  @IsBoolean()
  parallel_tool_calls?: boolean | null;

  @IsOptional()
  @IsWellFormed(findStopConditionsProblem)
  stop_server_tools_when?: object[] | null;

  @IsOptional()
  @IsWellFormed(findResponseFormatProblem)
  response_format?: object | null;

  @IsOptional()
  @IsWellFormed(findMetadataProblem)
  metadata?: Record<string, string> | null;

  @IsOptional()
  @IsIn(['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast'])
  service_tier?: string | null;

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
}
