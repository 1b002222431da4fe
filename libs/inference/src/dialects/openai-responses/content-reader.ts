import { defined, isObject, numberOf, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AppError } from '@libs/errors';
import type {
  Annotation,
  CacheMark,
  FilePart,
  ImagePart,
  MediaSource,
  Part,
  ReasoningFormat,
  ReasoningPart,
  TextPart,
  VideoPart,
} from '../../model/conversation';
import { readMediaUrl } from '../../model/media-url';
import { unseal } from '../sealed-thoughts';
import { sourceOfFileData } from './media';

/** Separates the parts of a summary, which the conversation holds as one text. */
export const SUMMARY_BREAK = '\n\n';

const DETAILS = ['low', 'high', 'original'] as const;

/** Reads one part of a message; null for a type that a conversation cannot hold. */
export function readPart(part: JsonObject): Part | null {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return readText(part);
    case 'refusal':
      return { type: 'refusal', text: stringOf(part['refusal']) ?? '' };
    case 'input_image':
      return readImage(part);
    case 'input_file':
      return readFile(part);
    case 'input_audio':
      return readAudio(part);
    case 'input_video':
      return readVideo(part);
    default:
      return null;
  }
}

function readText(part: JsonObject): TextPart {
  const annotations = readAnnotations(part['annotations']);
  return defined({
    type: 'text' as const,
    text: stringOf(part['text']) ?? '',
    annotations: annotations.length > 0 ? annotations : undefined,
    cache: readCacheMark(part),
  });
}

/** Reads citations of web pages. Citations of a provider's files are left out: no other provider has these files. */
export function readAnnotations(value: unknown): Annotation[] {
  return objectsOf(value).flatMap((annotation) =>
    annotation['type'] === 'url_citation'
      ? defined({
          type: 'url-citation' as const,
          url: stringOf(annotation['url']) ?? '',
          title: stringOf(annotation['title']) ?? '',
          startIndex: numberOf(annotation['start_index']) ?? 0,
          endIndex: numberOf(annotation['end_index']) ?? 0,
          content: stringOf(annotation['content']),
        })
      : [],
  );
}

/** Reads the cache mark of a block: `prompt_cache_breakpoint` of this API, or `cache_control`. */
export function readCacheMark(part: JsonObject): CacheMark | undefined {
  const control = objectOrNull(part['cache_control']);
  if (control !== null) return defined({ ttl: stringOf(control['ttl']) });
  return !isObject(part['prompt_cache_breakpoint']) ? undefined : {};
}

function readImage(part: JsonObject): ImagePart {
  const detail = DETAILS.find((known) => known === part['detail']);
  return defined({
    type: 'image' as const,
    source: sourceOf(part, 'image_url'),
    detail,
    cache: readCacheMark(part),
  });
}

function readFile(part: JsonObject): FilePart {
  const data = stringOf(part['file_data']);
  return defined({
    type: 'file' as const,
    source: data === undefined ? sourceOf(part, 'file_url') : sourceOfFileData(data),
    filename: stringOf(part['filename']),
    cache: readCacheMark(part),
  });
}

function sourceOf(part: JsonObject, member: string): MediaSource {
  const url = stringOf(part[member]);
  if (url !== undefined) return readMediaUrl(url);
  const id = stringOf(part['file_id']);
  if (id !== undefined) return { kind: 'file-id', id };
  throw new AppError('invalid_request', `A part of the input has neither ${member} nor file_id`, {
    metadata: { param: 'input' },
  });
}

function readAudio(part: JsonObject): Part {
  const audio = objectOf(part['input_audio']);
  return { type: 'audio', data: stringOf(audio['data']) ?? '', format: stringOf(audio['format']) ?? '' };
}

function readVideo(part: JsonObject): VideoPart {
  return { type: 'video', source: readMediaUrl(stringOf(part['video_url']) ?? '') };
}

/** Reads a reasoning item of a caller or an upstream. `format` applies if the item names none. */
export function readReasoning(item: JsonObject, format?: ReasoningFormat): ReasoningPart {
  const join = (list: unknown, gap: string): string | undefined => {
    const texts = objectsOf(list).flatMap((entry) => stringOf(entry['text']) ?? []);
    return texts.length > 0 ? texts.join(gap) : undefined;
  };
  const encrypted = stringOf(item['encrypted_content']);
  // A thought of another API, sealed for a caller that sends back nothing else of it.
  const sealed = encrypted === undefined ? null : unseal(encrypted);
  const { shows: _shows, ...thought } = sealed ?? {};
  return defined({
    type: 'reasoning' as const,
    text: join(item['content'], SUMMARY_BREAK),
    summary: join(item['summary'], SUMMARY_BREAK),
    signature: stringOf(item['signature']),
    encrypted: sealed === null ? encrypted : undefined,
    id: stringOf(item['id']),
    format: (stringOf(item['format']) as ReasoningFormat | undefined) ?? format,
    ...thought,
  });
}
