import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { MAX_MODEL_LENGTH, MAX_OUTPUT_TOKENS, OpenAiConversationDto } from '../inference/inference.dto';
import { isLength } from '../validation/member-checks';
import { IsWellFormed, isNull } from '../validation/well-formed';
import { findResponsesInputProblem } from './responses-input';
import {
  findDebugProblem,
  findDeferredToolsProblem,
  findIncludeProblem,
  findModalitiesProblem,
  findPromptTemplateProblem,
  findReasoningSettingsProblem,
  findResponseMetadataProblem,
  findTextSettingsProblem,
} from './responses-settings';
import { findPluginsProblem, findResponsesToolsProblem, findToolChoiceProblem } from './responses-tools';

/** Checks `model`. It may be absent: routing decides what to do if `models` is absent too. */
function findModelProblem(model: unknown): string | null {
  if (model === undefined || model === null) return null;
  // The model is stored with the call, and PostgreSQL accepts neither NUL nor a lone surrogate.
  const fits =
    typeof model === 'string' &&
    isLength(model, 1, MAX_MODEL_LENGTH) &&
    !model.includes('\u0000') &&
    model.isWellFormed();
  return fits ? null : ` must be text of 1 to ${MAX_MODEL_LENGTH} characters`;
}

/**
 * `POST /responses` and the body of a batch line for it. Nothing is ever stored, so fields that would need it are
 * refused.
 */
export class ResponsesDto extends OpenAiConversationDto {
  /** Stored with the call, as each of `models` may be. */
  @IsWellFormed(findModelProblem)
  model?: string | null;

  @IsWellFormed(findResponsesInputProblem)
  input: string | object[];

  @IsOptional()
  @IsString()
  instructions?: string | null;

  @IsWellFormed(isNull(' must be null: nothing is stored, send the whole conversation as input'))
  previous_response_id?: null;

  @IsWellFormed(isNull(' must be null: nothing is stored, send the whole conversation as input'))
  conversation?: null;

  @IsOptional()
  @IsIn([false], { message: '$property must be false: nothing is stored' })
  store?: false | null;

  @IsOptional()
  @IsIn([false], { message: '$property must be false: nothing runs in the background' })
  background?: false | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_OUTPUT_TOKENS)
  max_output_tokens?: number | null;

  @IsOptional()
  @IsWellFormed(findResponseMetadataProblem)
  metadata?: Record<string, string> | null;

  @IsOptional()
  @IsWellFormed(findResponsesToolsProblem)
  tools?: object[] | null;

  @IsOptional()
  @IsWellFormed(findToolChoiceProblem)
  tool_choice?: string | object | null;

  @IsOptional()
  @IsWellFormed(findTextSettingsProblem)
  text?: object | null;

  @IsOptional()
  @IsWellFormed(findReasoningSettingsProblem)
  reasoning?: object | null;

  @IsOptional()
  @IsWellFormed(findIncludeProblem)
  include?: string[] | null;

  @IsOptional()
  @IsWellFormed(findModalitiesProblem)
  modalities?: string[] | null;

  @IsOptional()
  @IsIn(['auto', 'disabled'])
  truncation?: string | null;

  @IsOptional()
  @IsWellFormed(findPluginsProblem)
  plugins?: object[] | null;

  @IsOptional()
  @IsWellFormed(findDebugProblem)
  debug?: object | null;

  @IsOptional()
  @IsWellFormed(findPromptTemplateProblem)
  prompt?: object | null;

  @IsOptional()
  @IsWellFormed(findDeferredToolsProblem)
  deferred_tools?: object | null;
}
