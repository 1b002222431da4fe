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
import { MAX_OUTPUT_TOKENS } from '../chat-completions/chat-completions.dto';
import { IsStoredText } from '../organizations/member-rules';
import { findProviderPreferencesProblem, type ProviderPreferences } from '../routing/provider-preferences';
import { IsWellFormed } from '../validation/well-formed';
import { findCacheProblem, findMessageListProblem, findSystemProblem } from './message-content';
import {
  findContextManagementProblem,
  findFallbacksProblem,
  findMessageMetadataProblem,
  findMessageToolChoiceProblem,
  findMessageToolsProblem,
  findOutputConfigProblem,
  findThinkingProblem,
} from './message-settings';

/**
 * `POST /messages`, `POST /messages/count_tokens` and the body of a batch line on messages. Validated, never
 * rebuilt: the caller's bytes go upstream, members we do not know included.
 */
export class MessagesDto {
  /** Stored with the call, as each of `models` and `fallbacks` may be. */
  @IsStoredText(256)
  @MinLength(1)
  model: string;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(32)
  @IsStoredText(256, { each: true })
  @MinLength(1, { each: true })
  models?: string[] | null;

  /** Not beside `models`, which say the same. */
  @IsOptional()
  @IsWellFormed(findFallbacksProblem)
  fallbacks?: { readonly model: string }[] | null;

  @IsWellFormed(findMessageListProblem)
  messages: object[];

  @IsOptional()
  @IsWellFormed(findSystemProblem)
  system?: string | object[] | null;

  /** Where absent, as many as the endpoint gives. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_tokens?: number | null;

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

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
  @IsArray()
  @ArrayMaxSize(8_192)
  @IsString({ each: true })
  stop_sequences?: string[] | null;

  @IsOptional()
  @IsWellFormed(findMessageToolsProblem)
  tools?: object[] | null;

  @IsOptional()
  @IsWellFormed(findMessageToolChoiceProblem)
  tool_choice?: object | null;

  @IsOptional()
  @IsWellFormed(findThinkingProblem)
  thinking?: object | null;

  @IsOptional()
  @IsWellFormed(findOutputConfigProblem)
  output_config?: object | null;

  @IsOptional()
  @IsWellFormed(findContextManagementProblem)
  context_management?: object | null;

  @IsOptional()
  @IsWellFormed(findCacheProblem)
  cache_control?: object | null;

  @IsOptional()
  @IsWellFormed(findMessageMetadataProblem)
  metadata?: { readonly user_id?: string | null } | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  service_tier?: string | null;

  @IsOptional()
  @IsIn(['fast', 'standard'])
  speed?: string | null;

  @IsOptional()
  @IsWellFormed(findProviderPreferencesProblem)
  provider?: ProviderPreferences | null;

  @IsOptional()
  @IsArray()
  @IsObject({ each: true })
  plugins?: object[] | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  route?: string | null;

  @IsOptional()
  @IsArray()
  @IsObject({ each: true })
  stop_server_tools_when?: object[] | null;

  @IsOptional()
  @IsObject()
  trace?: object | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  session_id?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  user?: string | null;
}
