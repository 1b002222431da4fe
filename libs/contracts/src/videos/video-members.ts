import { findElementsProblem, findMembersProblem, oneOf, text } from '../validation/member-checks';
import { isPlainObject } from '../validation/well-formed';

export const ASPECT_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'] as const;
export const VIDEO_RESOLUTIONS = ['360p', '480p', '720p', '768p', '1080p', '1K', '2K', '4K'] as const;
const FRAME_TYPES = ['first_frame', 'last_frame'] as const;
const REFERENCE_TYPES = ['image_url', 'audio_url', 'video_url'] as const;

/** Longest picture in base64 with its URL prefix; the code that reads the picture has its own limit. */
const LONGEST_URL = 48 * 1024 * 1024;
const MOST_REFERENCES = 10;

/** A frame of the video to be. */
export interface FrameImage {
  readonly type?: 'image_url' | null;
  readonly image_url: { readonly url: string };
  readonly frame_type: (typeof FRAME_TYPES)[number];
}

/** Material on which the video is based; the link is in the field named by `type`. */
export interface InputReference {
  readonly type: (typeof REFERENCE_TYPES)[number];
  readonly image_url?: { readonly url: string } | null;
  readonly audio_url?: { readonly url: string } | null;
  readonly video_url?: { readonly url: string } | null;
}

/** Checks `frame_images`: at most one first and one last frame. */
export function findFrameImagesProblem(images: unknown): string | null {
  const problem = findElementsProblem(images, 0, FRAME_TYPES.length, findFrameProblem);
  if (problem !== null) return problem;
  const kinds = (images as FrameImage[]).map(({ frame_type: kind }) => kind);
  return new Set(kinds).size === kinds.length ? null : ' must not hold two frames of one frame_type';
}

function findFrameProblem(image: unknown): string | null {
  const problem = findMembersProblem(image, { type: oneOf('image_url') });
  if (problem !== null) return problem;
  const { frame_type: kind, image_url: link } = image as Record<string, unknown>;
  const unknownKind = oneOf(...FRAME_TYPES)(kind);
  return unknownKind === null ? findLinkProblem('image_url', link) : `.frame_type${unknownKind}`;
}

/** Checks `input_references`. */
export function findReferencesProblem(references: unknown): string | null {
  return findElementsProblem(references, 0, MOST_REFERENCES, (reference) => {
    if (!isPlainObject(reference)) return ' must be an object';
    const { type } = reference;
    const problem = oneOf(...REFERENCE_TYPES)(type);
    return problem === null ? findLinkProblem(String(type), reference[String(type)]) : `.type${problem}`;
  });
}

function findLinkProblem(name: string, link: unknown): string | null {
  if (!isPlainObject(link)) return `.${name} must be an object`;
  const problem = text(1, LONGEST_URL)(link['url']);
  return problem === null ? null : `.${name}.url must be a URL`;
}
