import { ByteNames } from './byte-names';
import type { MediaKind } from './media-tokens';

/** The role of a string, derived from the field names around it. */
export type Place =
  | 'text'
  /** The value of an unknown field: text, or JSON that a model may read as text. */
  | 'other'
  /** JSON that the model reads as text, so field names in it do not mark media. */
  | 'json'
  | 'type'
  | 'media_type'
  | 'input_audio'
  | 'file'
  | 'source'
  | 'audio data'
  | 'spoken'
  | 'spoken id'
  | 'source data'
  | 'picture result'
  | 'sealed'
  /** A link or the id of a file. The type of the part shows which kind of media it is, if any. */
  | 'typed link'
  /** A link or the id of a file in the `source` of a part, which always contains media. */
  | 'source link'
  | `${MediaKind} link`;

/**
 * The role of a field's value: always the same, or depending on the role of the object that contains the field; `else`
 * applies to all other objects.
 */
type Rule = Place | Readonly<Partial<Record<Place, Place>> & { else?: Place }>;

const LINK: Rule = {
  'image link': 'image link',
  'audio link': 'audio link',
  'video link': 'video link',
  'file link': 'file link',
  input_audio: 'audio link',
  file: 'file link',
  source: 'source link',
  else: 'typed link',
};

const RULES: Readonly<Record<string, Rule>> = {
  image_url: 'image link',
  audio_url: 'audio link',
  video_url: 'video link',
  file_url: 'file link',
  document_url: 'file link',
  file_data: 'file link',
  url: LINK,
  file_id: LINK,
  input_audio: 'input_audio',
  file: 'file',
  input_file: 'file',
  source: 'source',
  data: {
    input_audio: 'audio data',
    source: 'source data',
    file: 'file link',
    'file link': 'file link',
    'video link': 'video link',
    'image link': 'image link',
  },
  // An earlier answer that the provider stores, referred to by its id.
  audio: 'spoken',
  id: { spoken: 'spoken id' },
  result: 'picture result',
  encrypted_content: 'sealed',
  signature: 'sealed',
  type: 'type',
  media_type: 'media_type',
  // The arguments that a model gave to a tool.
  input: 'json',
  // Parts of messages, of tool results and of documents, and pictures that a model has made.
  content: 'text',
  output: 'text',
  images: 'image link',
};

const NAMES = new ByteNames(RULES);
/** Further names, in a separate table because `ByteNames` cannot hold names with the same length and first letter. */
const MORE_NAMES = new ByteNames<Rule>({
  input_video: 'video link',
  uri: LINK,
  fileUri: LINK,
  video: 'video link',
  image: 'image link',
});

/** Returns the place of the value whose name is between two offsets; `around` is the place of the object. */
export function placeOf(bytes: Buffer, start: number, end: number, around: Place): Place {
  if (around === 'json') return 'json';
  const rule = NAMES.find(bytes, start, end) ?? findMore(bytes, start, end) ?? 'other';
  return typeof rule === 'string' ? rule : (rule[around] ?? rule.else ?? 'other');
}

const LETTER_F = 0x66;
const LETTER_I = 0x69;
const LETTER_U = 0x75;
const LETTER_V = 0x76;

/** Looks `MORE_NAMES` up. Checks the first letter before, because most names have another one. */
function findMore(bytes: Buffer, start: number, end: number): Rule | undefined {
  const first = bytes[start];
  const mayBe = first === LETTER_I || first === LETTER_F || first === LETTER_U || first === LETTER_V;
  return mayBe ? MORE_NAMES.find(bytes, start, end) : undefined;
}

/** Places whose strings are media or links to media. */
export const LINKS: ReadonlyMap<Place, MediaKind> = new Map([
  ['image link', 'image'],
  ['audio link', 'audio'],
  ['input_audio', 'audio'],
  ['video link', 'video'],
  ['file link', 'file'],
]);

/** Parts of media by their types, on all APIs. */
export const KINDS_OF_PARTS: ReadonlyMap<string | null, MediaKind> = new Map([
  ['image', 'image'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['computer_screenshot', 'image'],
  ['audio', 'audio'],
  ['audio_url', 'audio'],
  ['input_audio', 'audio'],
  ['video', 'video'],
  ['video_url', 'video'],
  ['input_video', 'video'],
  ['file', 'file'],
  ['input_file', 'file'],
  ['document', 'file'],
  ['document_url', 'file'],
  ['container_upload', 'file'],
]);
/** Type of an item that holds a picture made by a model. */
export const PICTURE_ITEM = 'image_generation_call';

/** All types of parts and items that hold media. */
export const MEDIA_TYPES: ReadonlySet<string | null> = new Set([...KINDS_OF_PARTS.keys(), PICTURE_ITEM]);

/** The most expensive kind of media; assumed for a part of unknown type. */
export const UNCLEAR: MediaKind = 'audio';
