import {
  IsArray,
  IsBoolean,
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
import { MAX_MODEL_LENGTH, MAX_OUTPUT_TOKENS, OpenAiConversationDto } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { findDebugProblem } from '../responses/responses-settings';
import { IsWellFormed } from '../validation/well-formed';
import {
  findMessagesProblem,
  findMetadataProblem,
  findResponseFormatProblem,
  findStopProblem,
  findToolsProblem,
} from './chat-messages';
import {
  findChatModalitiesProblem,
  findChatReasoningProblem,
  findChatToolChoiceProblem,
  findLogitBiasProblem,
  findPredictionProblem,
  findStreamOptionsProblem,
} from './chat-settings';

const NUMBER = { allowInfinity: false, allowNaN: false };

/** `POST /chat/completions` and the body of a batch line on it. */
export class ChatCompletionDto extends OpenAiConversationDto {
  /** Stored with the call, as each of `models` may be. */
  @IsOptional()
  @IsStoredText(MAX_MODEL_LENGTH)
  @MinLength(1)
  model?: string | null;

  @IsWellFormed(findMessagesProblem)
  messages: object[];

  @IsOptional()
  @IsWellFormed(findStreamOptionsProblem)
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
  @IsInt()
  seed?: number | null;

  @IsOptional()
  @IsBoolean()
  logprobs?: boolean | null;

  @IsOptional()
  @IsWellFormed(findLogitBiasProblem)
  logit_bias?: Record<string, number> | null;

  @IsOptional()
  @IsNumber(NUMBER)
  min_p?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  top_a?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  repetition_penalty?: number | null;

  @IsOptional()
  @IsWellFormed(findChatReasoningProblem)
  reasoning?: object | null;

  /** Some providers define additional values. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  reasoning_effort?: string | null;

  @IsOptional()
  @IsBoolean()
  include_reasoning?: boolean | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  verbosity?: string | null;

  @IsOptional()
  @IsWellFormed(findChatModalitiesProblem)
  modalities?: string[] | null;

  @IsOptional()
  @IsWellFormed(findPredictionProblem)
  prediction?: object | null;

  @IsOptional()
  @IsWellFormed(findDebugProblem)
  debug?: object | null;

  @IsOptional()
  @IsArray()
  @IsObject({ each: true })
  plugins?: object[] | null;

  @IsOptional()
  @IsWellFormed(findStopProblem)
  stop?: string | string[] | null;

  @IsOptional()
  @IsWellFormed(findToolsProblem)
  tools?: object[] | null;

  @IsOptional()
  @IsWellFormed(findChatToolChoiceProblem)
  tool_choice?: string | object | null;

  @IsOptional()
  @IsWellFormed(findResponseFormatProblem)
  response_format?: object | null;

  @IsOptional()
  @IsWellFormed(findMetadataProblem)
  metadata?: Record<string, string> | null;
}
