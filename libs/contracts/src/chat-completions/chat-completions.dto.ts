import { IsBoolean, IsInt, IsObject, IsOptional, Max, Min, MinLength } from 'class-validator';
import { MAX_MODEL_LENGTH, MAX_OUTPUT_TOKENS, OpenAiConversationDto } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { IsWellFormed } from '../validation/well-formed';
import {
  findMessagesProblem,
  findMetadataProblem,
  findResponseFormatProblem,
  findStopProblem,
  findToolsProblem,
} from './chat-messages';

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
  @IsInt()
  seed?: number | null;

  @IsOptional()
  @IsBoolean()
  logprobs?: boolean | null;

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
  @IsWellFormed(findResponseFormatProblem)
  response_format?: object | null;

  @IsOptional()
  @IsWellFormed(findMetadataProblem)
  metadata?: Record<string, string> | null;
}
