import {
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsNumber,
  IsOptional,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import { InferenceDto, MAX_MODEL_LENGTH } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { findElementsProblem, text } from '../validation/member-checks';
import { isAbsent, isNonEmptyString, isPlainObject, IsWellFormed } from '../validation/well-formed';

const MAX_KEYTERMS = 100;
const MAX_KEYTERM_LENGTH = 1_000;
const MAX_TRACE_MEMBERS = 64;

/** Fields of `POST /audio/transcriptions` other than the recording, for JSON and forms. */
export class TranscriptionDto extends InferenceDto {
  /** Stored with the call. */
  @IsStoredText(MAX_MODEL_LENGTH)
  @MinLength(1)
  model: string;

  /** ISO 639-1. */
  @IsOptional()
  @Matches(/^[a-z]{2}$/, { message: 'language must be an ISO 639-1 code of two lower-case letters' })
  language?: string | null;

  @IsOptional()
  @IsIn(['json', 'verbose_json'])
  response_format?: 'json' | 'verbose_json' | null;

  @IsOptional()
  @IsNumber({ allowInfinity: false, allowNaN: false })
  @Min(0)
  @Max(1)
  temperature?: number | null;

  /** Has no effect without `verbose_json`. */
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(['word', 'segment'], { each: true })
  timestamp_granularities?: ('word' | 'segment')[] | null;

  @IsOptional()
  @IsWellFormed((value) => findElementsProblem(value, 1, MAX_KEYTERMS, text(1, MAX_KEYTERM_LENGTH)))
  keyterms?: string[] | null;

  @IsOptional()
  @IsBoolean()
  @IsWellFormed((value, { response_format: format }) =>
    value === true && format !== 'verbose_json' ? ' needs response_format verbose_json' : null,
  )
  diarize?: boolean | null;

  /** For observability tools; never sent to a provider. */
  @IsOptional()
  @IsWellFormed((value) => {
    const fits = isPlainObject(value) && Object.keys(value).length <= MAX_TRACE_MEMBERS;
    return fits ? null : ` must be an object of at most ${MAX_TRACE_MEMBERS} members`;
  })
  trace?: Readonly<Record<string, unknown>> | null;

  @IsOptional()
  @IsIn([false])
  stream?: boolean | null;
}

/** `input_audio` of a JSON body: a URL, or bytes in base64 (then `data` is only their position in the body). */
export class TranscriptionJsonDto extends TranscriptionDto {
  @IsWellFormed(findInputAudioProblem)
  input_audio: InputAudioDto;
}

export interface InputAudioDto {
  readonly data?: string | null;
  readonly url?: string | null;
  readonly format?: string | null;
}

const LONGEST_URL = 8_192;
const LONGEST_FORMAT = 32;

function findInputAudioProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return ' must be an object with data or url';
  const { data, url, format } = value;
  if (isAbsent(data) === isAbsent(url)) return ' must have either data or url';
  return findSourceProblem(data, url) ?? findFormatProblem(format, isAbsent(data));
}

function findSourceProblem(data: unknown, url: unknown): string | null {
  if (isAbsent(url)) return isNonEmptyString(data) ? null : '.data must be base64';
  return isNonEmptyString(url) && url.length <= LONGEST_URL ? null : '.url must be a URL';
}

function findFormatProblem(format: unknown, isByUrl: boolean): string | null {
  if (isAbsent(format)) return isByUrl ? null : '.format is required beside data';
  return isNonEmptyString(format) && format.length <= LONGEST_FORMAT ? null : '.format must be the name of a format';
}
