import type { VideoDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  hasRatio,
  readVideoCapabilities,
  resolutionOf,
  sizeOf,
  type Candidate,
  type VideoCapabilities,
  type VideoRequest,
} from '@libs/inference';

/** What of a video is decided before its media are read. */
export type VideoSpecification = Omit<VideoRequest, 'firstFrame' | 'lastFrame' | 'references' | 'continues'>;

const USUAL_SECONDS = 5;
const USUAL_RESOLUTION = '720p';
const USUAL_RATIO = '16:9';
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'];

/**
 * The video as one endpoint would make it: every member checked against what the endpoint can do, every default
 * filled in.
 *
 * @throws AppError invalid_request that names the member
 */
export function specifyVideo(dto: VideoDto, { model, endpoint }: Candidate): VideoSpecification {
  const can = readVideoCapabilities(endpoint);
  checkPrompt(dto, can, model.architecture.inputModalities.includes('text'));
  checkMedia(dto, can);
  checkUpscaling(dto, can);
  if (dto.previous_job_id && !can.continuation) throw refusal('previous_job_id', 'cannot be used with this model');
  if (dto.generate_audio && !can.generateAudio) throw refusal('generate_audio', 'cannot be true with this model');
  return {
    prompt: dto.prompt ?? null,
    durationSeconds: durationOf(dto, can),
    ...frameOf(dto, can),
    generateAudio: dto.generate_audio ?? can.generateAudio,
    seed: dto.seed ?? null,
    creativity: dto.creativity ?? null,
    upscaleFactor: dto.upscale_factor ?? null,
    options: optionsOf(dto, can, endpoint.provider.slug),
  };
}

function checkPrompt(dto: VideoDto, { promptOptional }: VideoCapabilities, readsText: boolean): void {
  if (dto.prompt) return;
  const hasFrame = Boolean(dto.frame_images?.length);
  if (hasFrame && (promptOptional || !readsText)) return;
  throw refusal('prompt', 'is required');
}

function checkMedia(dto: VideoDto, can: VideoCapabilities): void {
  for (const [index, frame] of (dto.frame_images ?? []).entries()) {
    if (!can.frameImages.includes(frame.frame_type)) {
      throw refusal(`frame_images[${index}].frame_type`, 'cannot be used with this model');
    }
  }
  if (dto.frame_images?.length) return;
  for (const [index, { type }] of (dto.input_references ?? []).entries()) {
    const kind = type.replace('_url', '');
    if (!can.references.includes(kind)) throw refusal(`input_references[${index}].type`, 'cannot be used with this model');
  }
}

function checkUpscaling(dto: VideoDto, { creativity, upscaleFactor }: VideoCapabilities): void {
  const wished = dto.creativity ?? null;
  if (wished !== null && creativity?.includes(wished) !== true) {
    throw refusal('creativity', 'cannot be used with this model');
  }
  const factor = dto.upscale_factor ?? null;
  if (factor === null) return;
  const { min, max } = upscaleFactor ?? { min: Number.POSITIVE_INFINITY, max: null };
  const fits = factor >= (min ?? 0) && factor <= (max ?? Number.POSITIVE_INFINITY);
  if (!fits) throw refusal('upscale_factor', 'cannot be used with this model');
}

function durationOf({ duration }: VideoDto, { durations }: VideoCapabilities): number {
  const wished = duration ?? durations?.[0] ?? USUAL_SECONDS;
  if (durations === null || durations.includes(wished)) return wished;
  throw refusal('duration', `must be one of ${durations.join(', ')} with this model`);
}

type Frame = Pick<VideoRequest, 'resolution' | 'aspectRatio' | 'width' | 'height'>;

function frameOf(dto: VideoDto, can: VideoCapabilities): Frame {
  const ratios = can.aspectRatios ?? RATIOS;
  if (dto.size) return frameOfSize(dto, can, ratios);
  const resolution = dto.resolution ?? usualOf(can.resolutions, USUAL_RESOLUTION);
  const aspectRatio = dto.aspect_ratio ?? usualOf(ratios, USUAL_RATIO);
  checkListed('resolution', resolution, can.resolutions);
  checkListed('aspect_ratio', aspectRatio, ratios);
  return { resolution, aspectRatio, ...sizeOf(resolution, aspectRatio) };
}

/** `size` says what resolution and aspect ratio say together, and must not say otherwise. */
function frameOfSize(dto: VideoDto, can: VideoCapabilities, ratios: readonly string[]): Frame {
  const [width = 0, height = 0] = dto.size!.split('x').map(Number);
  if (can.sizes !== null && !can.sizes.includes(dto.size!)) throw refusal('size', 'cannot be used with this model');
  const resolution = resolutionOf({ width, height });
  const fitting = ratios.filter((ratio) => hasRatio({ width, height }, ratio));
  if (resolution === null || fitting.length === 0) throw refusal('size', 'cannot be used with this model');
  checkListed('size', resolution, can.resolutions);
  if (dto.resolution && dto.resolution !== resolution) throw refusal('size', 'is not of the resolution');
  if (dto.aspect_ratio && !fitting.includes(dto.aspect_ratio)) throw refusal('size', 'is not of the aspect_ratio');
  return { resolution, aspectRatio: dto.aspect_ratio ?? fitting[0]!, width, height };
}

function usualOf(list: readonly string[] | null, usual: string): string {
  return list === null || list.includes(usual) ? usual : (list[0] ?? usual);
}

function checkListed(param: string, value: string, list: readonly string[] | null): void {
  if (list !== null && !list.includes(value)) throw refusal(param, 'cannot be used with this model');
}

/** Only members that the catalogue lets through: an address or a key among them would turn our call into another. */
function optionsOf(dto: VideoDto, { passthrough }: VideoCapabilities, provider: string): VideoRequest['options'] {
  const options = dto.provider?.options?.[provider] ?? {};
  const refused = Object.keys(options).find((name) => !passthrough.includes(name));
  if (refused === undefined) return options;
  throw refusal('provider.options', 'holds a member that cannot be passed on');
}

function refusal(param: string, why: string): AppError {
  return new AppError('invalid_request', `${param} ${why}`, { metadata: { param } });
}
