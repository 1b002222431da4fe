import type { CanonicalRequest } from './canonical-request';
import type { CacheMark, MediaSource, Message, Part } from './conversation';

type Counted = Pick<CanonicalRequest, 'messages' | 'tools'> &
  Partial<Pick<CanonicalRequest, 'responseFormat' | 'cache'>>;
type PartWithSource = Extract<Part, { readonly source: MediaSource }>;

/** The fields in which `media-places.ts` finds media, for each kind of part. */
const MEDIA_MEMBERS: Readonly<Record<PartWithSource['type'], string>> = {
  image: 'image_url',
  file: 'file_data',
  video: 'video_url',
};

/**
 * Returns a request body for routing and estimates of a conversation; it is never sent upstream. Media, thoughts and
 * cache marks have the form in which an estimate finds them in a caller's request.
 */
export function turnBody({ messages, tools, responseFormat, cache }: Counted): Buffer {
  const counted = {
    messages: messages.map(countedMessage),
    tools: tools.map(withMark),
    ...(responseFormat !== undefined && { response_format: responseFormat }),
    ...(cache !== undefined && { cache_control: cache }),
  };
  return Buffer.from(JSON.stringify(counted));
}

function countedMessage({ role, name, parts }: Message): object {
  return { role, name, content: parts.map(countedPart) };
}

function countedPart(part: Part): unknown {
  switch (part.type) {
    case 'text':
      return countedText(part);
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    case 'image':
    case 'file':
    case 'video':
      return countedMedia(part);
    case 'reasoning': {
      const { encrypted, ...plain } = part;
      return { ...plain, encrypted_content: encrypted };
    }
    case 'tool-result':
      return withMark({ ...part, parts: part.parts.map(countedPart) });
    default:
      return part;
  }
}

/** Returns a text part for the body. Most parts have only a text. */
function countedText(part: Extract<Part, { type: 'text' }>): unknown {
  return part.cache === undefined && part.annotations === undefined ? part.text : withMark(part);
}

function countedMedia({ source, ...part }: PartWithSource): object {
  const { type } = part;
  switch (source.kind) {
    case 'base64':
      return withMark({ ...part, [MEDIA_MEMBERS[type]]: `data:${source.mediaType ?? ''};base64,${source.data}` });
    case 'url':
      return withMark({ ...part, url: source.url });
    case 'file-id':
      return withMark({ ...part, file_id: source.id });
  }
}

function withMark(marked: object): object {
  const { cache, ...rest }: { readonly cache?: CacheMark } = marked;
  return cache === undefined ? rest : { ...rest, cache_control: cache };
}
