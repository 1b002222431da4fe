import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min, MinLength } from 'class-validator';
import { IsStoredText } from '../organizations/member-rules';
import { findProviderPreferencesProblem, type ProviderPreferences } from '../routing/provider-preferences';
import { IsWellFormed, isNonEmptyString, isPlainObject } from '../validation/well-formed';

const MAX_INPUTS = 100_000;
const MAX_DIMENSIONS = 100_000;
const MAX_TOKEN = 10_000_000;

/** `POST /embeddings` (interface §4.6) and the body of a batch line on it. */
export class EmbeddingsDto {
  /** Stored with the call. */
  @IsOptional()
  @IsStoredText(256)
  @MinLength(1)
  model?: string | null;

  /** A text, texts, tokens, lists of tokens, or multimodal inputs. */
  @IsWellFormed(findEmbeddingsInputProblem)
  input: string | unknown[];

  /** Null means an explicit null, which is refused; absent means float. */
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

  @IsOptional()
  @IsIn([false])
  stream?: boolean | null;
}

/** Checks `input`: every element of one kind, none of them empty. */
export function findEmbeddingsInputProblem(input: unknown): string | null {
  if (typeof input === 'string') return input === '' ? ' must not be empty' : null;
  if (!Array.isArray(input) || input.length === 0) return ' must be a non-empty string or array';
  if (input.length > MAX_INPUTS) return ` has more than ${MAX_INPUTS} elements`;
  const check = elementCheckFor(input[0]);
  if (check === null) return '[0] must be text, tokens or an object with content';
  const index = input.findIndex((element) => !check(element));
  return index === -1 ? null : `[${index}] must be a non-empty element of the same kind as the first`;
}

/** How many embeddings an input asks for. */
export function countEmbeddingsInputs(input: string | readonly unknown[]): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length;
}

function elementCheckFor(first: unknown): ((element: unknown) => boolean) | null {
  if (typeof first === 'string') return isNonEmptyString;
  if (typeof first === 'number') return isToken;
  if (Array.isArray(first)) return isTokenList;
  return isPlainObject(first) ? isMultimodalInput : null;
}

function isToken(element: unknown): boolean {
  return typeof element === 'number' && Number.isInteger(element) && element >= 0 && element <= MAX_TOKEN;
}

function isTokenList(element: unknown): boolean {
  return Array.isArray(element) && element.length > 0 && element.every(isToken);
}

function isMultimodalInput(element: unknown): boolean {
  if (!isPlainObject(element) || !Array.isArray(element.content) || element.content.length === 0) return false;
  return element.content.every((part) => isPlainObject(part) && isNonEmptyString(part.type));
}
