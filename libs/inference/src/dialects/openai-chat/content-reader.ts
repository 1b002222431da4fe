import { defined } from '@libs/json';
import type { AudioPart, CacheMark, FilePart, ImagePart, Part, TextPart, VideoPart } from '../../model/conversation';
import { CheckedObject } from '../checked-object';
import { readMediaUrl } from '../../model/media-url';

const DETAILS = ['auto', 'low', 'high', 'original'] as const;

/**
 * Reads a field that is a string or an array of parts; empty if it is absent. Adds the names of fields that parts
 * cannot hold to `unread`.
 */
export function readContent(message: CheckedObject, name: string, unread: Set<string>): Part[] {
  const value = message.value(name);
  if (value === undefined) return [];
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  if (!Array.isArray(value)) throw message.refuse(name, 'must be a string or an array');
  return message.objects(name).map((part) => readPart(part, unread));
}

function readPart(part: CheckedObject, unread: Set<string>): Part {
  const type = part.requiredString('type');
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (read === undefined) throw part.refuse('type', 'is not known');
  if (UNMARKED.has(type) && readCacheMark(part) !== undefined) unread.add('messages.content.cache_control');
  return read(part);
}

const READERS: Readonly<Record<string, (part: CheckedObject) => Part>> = {
  text: readText,
  refusal: (part) => ({ type: 'refusal', text: part.requiredString('refusal') }),
  image_url: readImage,
  input_audio: readAudio,
  file: readFile,
  video_url: readVideo,
  // An older name of the same.
  input_video: readVideo,
};

/** Types of parts that cannot carry a mark for the prompt cache. */
const UNMARKED: ReadonlySet<string> = new Set(['refusal', 'input_audio', 'video_url', 'input_video']);

function readText(part: CheckedObject): TextPart {
  return defined({ type: 'text' as const, text: part.requiredString('text'), cache: readCacheMark(part) });
}

/** Reads `cache_control`, or OpenAI's own name for it. */
export function readCacheMark(part: CheckedObject): CacheMark | undefined {
  const control = part.object('cache_control');
  if (control !== undefined) return defined({ ttl: control.string('ttl') });
  return part.object('prompt_cache_breakpoint') === undefined ? undefined : {};
}

/** Reads an image, which may also be a plain string, as many callers write it. */
export function readImage(part: CheckedObject): ImagePart {
  if (typeof part.value('image_url') === 'string') {
    return { type: 'image', source: readMediaUrl(part.requiredString('image_url')) };
  }
  const image = part.requiredObject('image_url');
  return defined({
    type: 'image' as const,
    source: readMediaUrl(image.requiredString('url')),
    detail: image.oneOf('detail', DETAILS),
    cache: readCacheMark(part),
  });
}

function readAudio(part: CheckedObject): AudioPart {
  const audio = part.requiredObject('input_audio');
  return { type: 'audio', data: audio.requiredString('data'), format: audio.requiredString('format') };
}

function readFile(part: CheckedObject): FilePart {
  const file = part.requiredObject('file');
  const data = file.string('file_data');
  const filename = file.string('filename');
  const cache = readCacheMark(part);
  if (data === undefined) {
    return defined({
      type: 'file' as const,
      source: { kind: 'file-id' as const, id: file.requiredString('file_id') },
      filename,
      cache,
    });
  }
  return defined({ type: 'file' as const, source: readFileData(data), filename, cache });
}

/** Reads file data: a link, a data URL or bare base64. */
function readFileData(data: string): FilePart['source'] {
  const source = readMediaUrl(data);
  const isLink = source.kind === 'base64' || /^[a-z][a-z0-9+.-]*:/i.test(data.slice(0, 32));
  return isLink ? source : { kind: 'base64', mediaType: null, data };
}

function readVideo(part: CheckedObject): VideoPart {
  return { type: 'video', source: readMediaUrl(part.requiredObject('video_url').requiredString('url')) };
}
