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
import { fieldsOf, listOf, numberOf, present, textOf, type Fields } from './fields';
import { readMediaUrl } from '../media-url';
import { sourceOfFileData } from './media';

/** A blank line stands between the parts of a summary that the model keeps as one text. */
export const SUMMARY_BREAK = '\n\n';

const DETAILS = ['low', 'high', 'original'] as const;

/** One part of a message; null for a kind that has no place in a conversation. */
export function readPart(part: Fields): Part | null {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return readText(part);
    case 'refusal':
      return { type: 'refusal', text: textOf(part['refusal']) ?? '' };
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

function readText(part: Fields): TextPart {
  const annotations = readAnnotations(part['annotations']);
  return present({
    type: 'text' as const,
    text: textOf(part['text']) ?? '',
    annotations: annotations.length > 0 ? annotations : undefined,
    cache: readCacheMark(part),
  });
}

/** Sources on the web; the ones that name files of a provider mean nothing elsewhere. */
export function readAnnotations(value: unknown): Annotation[] {
  return listOf(value).flatMap((annotation) =>
    annotation['type'] === 'url_citation'
      ? present({
          type: 'url-citation' as const,
          url: textOf(annotation['url']) ?? '',
          title: textOf(annotation['title']) ?? '',
          startIndex: numberOf(annotation['start_index']) ?? 0,
          endIndex: numberOf(annotation['end_index']) ?? 0,
          content: textOf(annotation['content']),
        })
      : [],
  );
}

/** The mark of a block, in the words of this API or in those of the general switch. */
export function readCacheMark(part: Fields): CacheMark | undefined {
  const control = fieldsOf(part['cache_control']);
  if (control !== null) return present({ ttl: textOf(control['ttl']) });
  return fieldsOf(part['prompt_cache_breakpoint']) === null ? undefined : {};
}

function readImage(part: Fields): ImagePart {
  const detail = DETAILS.find((known) => known === part['detail']);
  return present({
    type: 'image' as const,
    source: sourceOf(part, 'image_url'),
    detail,
    cache: readCacheMark(part),
  });
}

function readFile(part: Fields): FilePart {
  const data = textOf(part['file_data']);
  return present({
    type: 'file' as const,
    source: data === undefined ? sourceOf(part, 'file_url') : sourceOfFileData(data),
    filename: textOf(part['filename']),
    cache: readCacheMark(part),
  });
}

function sourceOf(part: Fields, member: string): MediaSource {
  const url = textOf(part[member]);
  if (url !== undefined) return readMediaUrl(url);
  const id = textOf(part['file_id']);
  if (id !== undefined) return { kind: 'file-id', id };
  throw new AppError('invalid_request', `A part of the input has neither ${member} nor file_id`, {
    metadata: { param: 'input' },
  });
}

function readAudio(part: Fields): Part {
  const audio = fieldsOf(part['input_audio']) ?? {};
  return { type: 'audio', data: textOf(audio['data']) ?? '', format: textOf(audio['format']) ?? '' };
}

function readVideo(part: Fields): VideoPart {
  return { type: 'video', source: readMediaUrl(textOf(part['video_url']) ?? '') };
}

/** A reasoning item, as a caller gives it back or an upstream sends it. `format` holds where it names none. */
export function readReasoning(item: Fields, format?: ReasoningFormat): ReasoningPart {
  const join = (list: unknown, gap: string): string | undefined => {
    const texts = listOf(list).flatMap((entry) => textOf(entry['text']) ?? []);
    return texts.length > 0 ? texts.join(gap) : undefined;
  };
  return present({
    type: 'reasoning' as const,
    text: join(item['content'], SUMMARY_BREAK),
    summary: join(item['summary'], SUMMARY_BREAK),
    signature: textOf(item['signature']),
    encrypted: textOf(item['encrypted_content']),
    id: textOf(item['id']),
    format: (textOf(item['format']) as ReasoningFormat | undefined) ?? format,
  });
}
