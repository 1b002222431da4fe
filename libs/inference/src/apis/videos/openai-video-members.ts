import type { JsonObject } from '@libs/json';
import { isPlainObject } from '@libs/contracts';
import { AppError } from '@libs/errors';

/** Maps our field names to the names in the request they came from. */
export type SentNames = ReadonlyMap<string, string>;

/** A request in our fields, with the names that they had in the original request. */
export interface TranslatedVideo {
  readonly members: JsonObject;
  readonly names: SentNames;
}

const FIRST_FRAME = 'frame_images[0]';
const SECONDS = /^[0-9]{1,4}$/;

/**
 * Replaces `seconds` and `input_reference`, which OpenAI's clients use, by `duration` and the first frame. Other
 * requests are not changed.
 * @throws AppError invalid_request with the name of the invalid field
 */
export function videoFromOpenAi(members: JsonObject): TranslatedVideo {
  const { seconds, input_reference: reference, ...rest } = members;
  const names = new Map<string, string>();
  const translated: Record<string, unknown> = rest;
  if (isGiven(seconds)) {
    if (isGiven(rest['duration'])) throw refusal('seconds', 'cannot be given beside duration');
    translated['duration'] = typeof seconds === 'string' && SECONDS.test(seconds) ? Number(seconds) : seconds;
    names.set('duration', 'seconds');
  }
  if (isGiven(reference)) {
    if (isGiven(rest['frame_images'])) throw refusal('input_reference', 'cannot be given beside frame_images');
    const image = { type: 'image_url', image_url: { url: linkOf(reference) }, frame_type: 'first_frame' };
    translated['frame_images'] = [image];
    names.set(FIRST_FRAME, 'input_reference');
  }
  return { members: translated, names };
}

/** Returns an error about one of our fields with the field name that the caller sent. */
export function namedAsSent(error: AppError, names: SentNames): AppError {
  const param = error.metadata?.['param'];
  const ours = [...names.keys()].find((name) => typeof param === 'string' && isWithin(param, name));
  if (ours === undefined) return error;
  const theirs = names.get(ours)!;
  return new AppError(error.code, error.message.replace(String(param), theirs), {
    metadata: { ...error.metadata, param: theirs },
    cause: error,
    internal: error.internal,
  });
}

function isWithin(param: string, name: string): boolean {
  return param === name || param.startsWith(`${name}.`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Returns the picture itself, or a link to it. An id of OpenAI's file API is refused: no provider here has that file.
 */
function linkOf(reference: unknown): unknown {
  if (!isPlainObject(reference)) {
    throw refusal('input_reference', 'must be a file of a form, or an object with image_url');
  }
  const { image_url: url, file_id: file } = reference;
  if (isGiven(file)) throw refusal('input_reference.file_id', 'cannot be used: files are not kept here');
  if (typeof url === 'string' && url !== '') return url;
  throw refusal('input_reference.image_url', 'must be a URL');
}

function refusal(param: string, why: string): AppError {
  return new AppError('invalid_request', `${param} ${why}`, { metadata: { param } });
}
