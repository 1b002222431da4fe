import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min, MinLength } from 'class-validator';
import { MAX_MODEL_LENGTH, RelayedDto } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { IsWellFormed } from '../validation/well-formed';
import { findEmbeddingsInputProblem } from './embeddings-input';

const MAX_DIMENSIONS = 100_000;

/** `POST /embeddings` and the body of a batch line on it. */
export class EmbeddingsDto extends RelayedDto {
  /** Stored with the call. */
  @IsOptional()
  @IsStoredText(MAX_MODEL_LENGTH)
  @MinLength(1)
  model?: string | null;

  /** A text, texts, tokens, lists of tokens, or multimodal inputs. */
  @IsWellFormed(findEmbeddingsInputProblem)
  input: string | unknown[];

  /** An explicit null is refused; absent means float. */
  @IsWellFormed((value) =>
    value === undefined || value === 'float' || value === 'base64' ? null : ' must be float or base64',
  )
  encoding_format?: 'float' | 'base64';

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_DIMENSIONS)
  dimensions?: number | null;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  input_type?: string | null;

  @IsOptional()
  @IsIn([false])
  stream?: boolean | null;
}
