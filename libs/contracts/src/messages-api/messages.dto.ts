import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { findCacheControlProblem } from '../inference/cache-control';
import { ConversationDto, MAX_MODEL_LENGTH, MAX_OUTPUT_TOKENS } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { IsWellFormed } from '../validation/well-formed';
import { findMessageListProblem, findSystemProblem } from './message-content';
import {
  findContextManagementProblem,
  findFallbacksProblem,
  findMcpServersProblem,
  findMessageMetadataProblem,
  findMessageToolChoiceProblem,
  findMessageToolsProblem,
  findOutputConfigProblem,
  findThinkingProblem,
} from './message-settings';

/** `POST /messages`, `POST /messages/count_tokens` and the body of a batch line on messages. */
export class MessagesDto extends ConversationDto {
  /** Stored with the call, as each of `models` and `fallbacks` may be. */
  @IsStoredText(MAX_MODEL_LENGTH)
  @MinLength(1)
  model: string;

  /** Not allowed together with `models`, which means the same. */
  @IsOptional()
  @IsWellFormed(findFallbacksProblem)
  fallbacks?: { readonly model: string }[] | null;

  @IsWellFormed(findMessageListProblem)
  messages: object[];

  @IsOptional()
  @IsWellFormed(findSystemProblem)
  system?: string | object[] | null;

  /** If absent, the most that the endpoint can produce. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_tokens?: number | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(8_192)
  @IsString({ each: true })
  stop_sequences?: string[] | null;

  @IsOptional()
  @IsWellFormed(findMessageToolsProblem)
  tools?: object[] | null;

  @IsOptional()
  @IsWellFormed(findMcpServersProblem)
  mcp_servers?: object[] | null;

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
  @IsWellFormed(findCacheControlProblem)
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
  @IsArray()
  @IsObject({ each: true })
  plugins?: object[] | null;
}
