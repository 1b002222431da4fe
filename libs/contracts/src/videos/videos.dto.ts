import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsPositive,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { InferenceDto, MAX_MODEL_LENGTH } from '../inference/inference.dto';
import { IsStoredText } from '../organizations/member-rules';
import { findTraceProblem } from '../responses/responses-settings';
import { IsWellFormed } from '../validation/well-formed';
import {
  ASPECT_RATIOS,
  findFrameImagesProblem,
  findReferencesProblem,
  VIDEO_RESOLUTIONS,
  type FrameImage,
  type InputReference,
} from './video-members';

const LONGEST_PROMPT = 32_000;
const LONGEST_URL = 8_192;
const LONGEST_SECONDS = 3_600;
const LARGEST_SEED = 4_294_967_295;
const NUMBER = { allowInfinity: false, allowNaN: false };

export const VIDEO_ID = /^gen-vid-\d{1,11}-[0-9A-Za-z]{20}$/;

/** `POST /videos`. Limits of the model are checked later, against the catalogue. */
export class VideoDto extends InferenceDto {
  @IsStoredText(MAX_MODEL_LENGTH)
  @MinLength(1)
  model: string;

  @IsOptional()
  @IsStoredText(LONGEST_PROMPT)
  @MinLength(1)
  prompt?: string | null;

  @IsOptional()
  @IsIn(ASPECT_RATIOS)
  aspect_ratio?: string | null;

  /** Seconds. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(LONGEST_SECONDS)
  duration?: number | null;

  @IsOptional()
  @IsIn(VIDEO_RESOLUTIONS)
  resolution?: string | null;

  /** Pixels, `<WIDTH>x<HEIGHT>`; combines resolution and aspect ratio. */
  @IsOptional()
  @Matches(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/, { message: '$property must be WIDTHxHEIGHT in points, such as 1280x720' })
  size?: string | null;

  @IsOptional()
  @IsBoolean()
  generate_audio?: boolean | null;

  /** A finished job to go on from. */
  @IsOptional()
  @Matches(VIDEO_ID, { message: '$property must be the id of a video job' })
  previous_job_id?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_URL)
  callback_url?: string | null;

  @IsOptional()
  @IsWellFormed(findFrameImagesProblem)
  frame_images?: FrameImage[] | null;

  @IsOptional()
  @IsWellFormed(findReferencesProblem)
  input_references?: InputReference[] | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LARGEST_SEED)
  seed?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(100)
  creativity?: number | null;

  @IsOptional()
  @IsNumber(NUMBER)
  @IsPositive()
  @Max(16)
  upscale_factor?: number | null;

  @IsOptional()
  @IsWellFormed(findTraceProblem)
  trace?: object | null;
}
