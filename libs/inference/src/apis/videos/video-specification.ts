import type { VideoDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Endpoint, Model } from '../../catalogue/catalogue';
import type { VideoRequest } from '../../videos/video-provider';
import { readVideoCapabilities, type VideoCapabilities } from './video-capabilities';
import { hasRatio, resolutionOf, sizeOf } from './video-size';

/** How large a video is. */
export type VideoDimensions = Pick<VideoRequest, 'resolution' | 'aspectRatio' | 'width' | 'height'>;

/** The properties of a video that are decided before its media are read. */
export type VideoSpecification = Omit<VideoRequest, 'firstFrame' | 'lastFrame' | 'references' | 'continues'>;

const UNFIT = 'cannot be used with this model';
const USUAL_SECONDS = 5;
const USUAL_RESOLUTION = '720p';
const USUAL_RATIO = '16:9';
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'];

/**
 * Returns the video that one endpoint would make: every field is checked against the endpoint's capabilities, every
 * default is filled in.
 * @param continued specification of the video that this one continues
 * @throws AppError invalid_request with the name of
 * the field
 */
export function specifyVideo(
  dto: VideoDto,
  { model, endpoint }: { readonly model: Model; readonly endpoint: Endpoint },
  continued: VideoDimensions | null = null,
): VideoSpecification {
  const can = readVideoCapabilities(endpoint);
  checkPrompt(dto, can, model.architecture.inputModalities.includes('text'));
  checkMedia(dto, can);
  checkUpscaling(dto, can);
  checkAbilities(dto, can);
  return {
    prompt: dto.prompt ?? null,
    durationSeconds: durationOf(dto, can),
    ...(continued === null ? dimensionsOf(dto, can) : continuedDimensions(dto, continued)),
    generateAudio: dto.generate_audio ?? can.generateAudio,
    seed: dto.seed ?? null,
    creativity: dto.creativity ?? null,
    upscaleFactor: dto.upscale_factor ?? null,
    options: optionsOf(dto, can, endpoint.provider.slug),
  };
}

function checkAbilities({ previous_job_id: previous, generate_audio: sounds, seed }: VideoDto, can: VideoCapabilities) {
  if (previous && !can.continuation) throw refusal('previous_job_id', UNFIT);
  if (sounds && !can.generateAudio) throw refusal('generate_audio', 'cannot be true with this model');
  if (typeof seed === 'number' && !can.seed) throw refusal('seed', UNFIT);
}

function checkPrompt(dto: VideoDto, { promptOptional }: VideoCapabilities, readsText: boolean): void {
  if (dto.prompt) return;
  const hasFrame = Boolean(dto.frame_images?.length);
  if (hasFrame && (promptOptional || !readsText)) return;
  throw refusal('prompt', 'is required');
}

function checkMedia({ frame_images: frames, input_references: references }: VideoDto, can: VideoCapabilities): void {
  for (const [index, { frame_type: kind }] of (frames ?? []).entries()) {
    checkListed(`frame_images[${index}].frame_type`, kind, can.frameImages);
  }
  if (frames?.length) return;
  for (const [index, { type }] of (references ?? []).entries()) {
    const types = can.references?.map((kind) => `${kind}_url`) ?? null;
    checkListed(`input_references[${index}].type`, type, types);
  }
}

function checkUpscaling(dto: VideoDto, { creativity, upscaleFactor }: VideoCapabilities): void {
  const [wished, factor] = [dto.creativity ?? null, dto.upscale_factor ?? null];
  if (wished !== null) checkListed('creativity', wished, creativity ?? []);
  if (factor !== null && !isWithin(factor, upscaleFactor)) throw refusal('upscale_factor', UNFIT);
}

function isWithin(factor: number, range: VideoCapabilities['upscaleFactor']): boolean {
  return range !== null && factor >= (range.min ?? 0) && factor <= (range.max ?? Number.POSITIVE_INFINITY);
}

function durationOf({ duration }: VideoDto, { durations }: VideoCapabilities): number {
  const wished = duration ?? durations?.[0] ?? USUAL_SECONDS;
  if (durations === null || durations.includes(wished)) return wished;
  throw refusal('duration', `must be one of ${durations.join(', ')} with this model (it is ${wished})`);
}

function dimensionsOf(dto: VideoDto, can: VideoCapabilities): VideoDimensions {
  const ratios = can.aspectRatios ?? RATIOS;
  if (dto.size) return dimensionsOfSize(dto, can, ratios);
  const resolution = dto.resolution ?? usualOf(can.resolutions, USUAL_RESOLUTION);
  const aspectRatio = dto.aspect_ratio ?? usualOf(ratios, USUAL_RATIO);
  checkListed('resolution', resolution, can.resolutions);
  checkListed('aspect_ratio', aspectRatio, ratios);
  return { resolution, aspectRatio, ...sizeOf(resolution, aspectRatio) };
}

/**
 * Returns the size of a continuation. Providers always use the size of the original, so no other size can be requested
 * or charged.
 */
function continuedDimensions(dto: VideoDto, continued: VideoDimensions): VideoDimensions {
  const kept = {
    resolution: continued.resolution,
    aspect_ratio: continued.aspectRatio,
    size: `${continued.width}x${continued.height}`,
  };
  for (const [param, value] of Object.entries(kept)) {
    const wished = dto[param as keyof typeof kept] ?? value;
    if (wished !== value) throw refusal(param, `must be ${value}, as in the job that is continued`);
  }
  return continued;
}

/** Reads `size`, which combines resolution and aspect ratio and must not contradict them. */
function dimensionsOfSize(dto: VideoDto, can: VideoCapabilities, ratios: readonly string[]): VideoDimensions {
  const [width = 0, height = 0] = dto.size!.split('x').map(Number);
  checkListed('size', dto.size!, can.sizes);
  const resolution = resolutionOf({ width, height });
  const [aspectRatio, ...others] = ratios.filter((ratio) => hasRatio({ width, height }, ratio));
  if (resolution === null || aspectRatio === undefined) throw refusal('size', UNFIT);
  const said = { resolution: dto.resolution ?? resolution, aspectRatio: dto.aspect_ratio ?? aspectRatio };
  const required = requiredOfSize({ resolution, ratios: [aspectRatio, ...others] }, said, can);
  if (required !== null) throw refusal('size', `must be of ${required} (it is ${dto.size})`);
  return { ...said, width, height };
}

/** Returns what a size must be of that it is not; null if it fits. */
function requiredOfSize(
  size: { readonly resolution: string; readonly ratios: readonly string[] },
  said: Pick<VideoDimensions, 'resolution' | 'aspectRatio'>,
  { resolutions }: VideoCapabilities,
): string | null {
  if (resolutions !== null && !resolutions.includes(size.resolution)) {
    return `one of ${resolutions.join(', ')} with this model`;
  }
  if (said.resolution !== size.resolution) return `the resolution ${said.resolution}`;
  return size.ratios.includes(said.aspectRatio) ? null : `the aspect_ratio ${said.aspectRatio}`;
}

function usualOf(list: readonly string[] | null, usual: string): string {
  return list === null || list.includes(usual) ? usual : (list[0] ?? usual);
}

/** A list that is null restricts nothing. */
function checkListed<T extends string | number>(param: string, value: T, list: readonly T[] | null): void {
  if (list === null || list.includes(value)) return;
  throw refusal(
    param,
    list.length === 0 ? UNFIT : `must be one of ${list.join(', ')} with this model (it is ${value})`,
  );
}

/**
 * Returns only fields that the catalogue allows: a URL or a key among the fields would turn our call into a different
 * one.
 */
function optionsOf(dto: VideoDto, { passthrough }: VideoCapabilities, provider: string): VideoRequest['options'] {
  const options = dto.provider?.options?.[provider] ?? {};
  const refused = Object.keys(options).find((name) => !passthrough.includes(name));
  if (refused === undefined) return options;
  throw refusal('provider.options', 'holds a member that cannot be passed on');
}

function refusal(param: string, why: string): AppError {
  return new AppError('invalid_request', `${param} ${why}`, { metadata: { param } });
}
