import { ByteNames } from './byte-names';
import { kindOfType, linkedMedia, mediaTokens, soundTokens, unsizedTokens, type MediaKind } from './media-tokens';
import { textUnits, UNITS_PER_TOKEN } from './text-tokens';

/** What the names around a string say of it. */
export type Place =
  | 'text'
  /** JSON that the model reads as text, so field names in it do not mark media. */
  | 'json'
  | 'type'
  | 'media_type'
  | 'input_audio'
  | 'source'
  | 'audio data'
  | 'spoken'
  | 'spoken id'
  | 'source data'
  | 'picture result'
  | 'sealed'
  | `${MediaKind} link`;

/** The place that a name gives to its value, by what its object is the value of. */
type Rule = Place | Readonly<Partial<Record<Place, Place>>>;

const RULES: Readonly<Record<string, Rule>> = {
  image_url: 'image link',
  audio_url: 'audio link',
  video_url: 'video link',
  file_url: 'file link',
  file_data: 'file link',
  url: {
    'image link': 'image link',
    'audio link': 'audio link',
    'video link': 'video link',
    'file link': 'file link',
    source: 'image link',
  },
  input_audio: 'input_audio',
  source: 'source',
  data: { input_audio: 'audio data', source: 'source data' },
  // An earlier answer that the provider keeps, by its id.
  audio: 'spoken',
  id: { spoken: 'spoken id' },
  result: 'picture result',
  encrypted_content: 'sealed',
  signature: 'sealed',
  type: 'type',
  media_type: 'media_type',
  // What a model gave a tool.
  input: 'json',
};

const NAMES = new ByteNames(RULES);

/** Returns what the name between two offsets makes of its value; `around` is the place of the object it stands in. */
export function placeOf(bytes: Buffer, start: number, end: number, around: Place): Place {
  if (around === 'json') return 'json';
  const rule = NAMES.find(bytes, start, end) ?? 'text';
  return typeof rule === 'string' ? rule : (rule[around] ?? 'text');
}

const LINKS: ReadonlyMap<Place, MediaKind> = new Map([
  ['image link', 'image'],
  ['audio link', 'audio'],
  ['video link', 'video'],
  ['file link', 'file'],
]);

/** Thoughts that only their provider can read are shorter as tokens than as base64. */
const SEALED_BYTES_PER_TOKEN = 4;

/** A string whose object must be read to its end before it is known what the string is. */
interface Pending {
  readonly start: number;
  readonly end: number;
  readonly place: 'source data' | 'picture result';
}

/** What one object says of the media in it. */
interface ObjectFacts {
  pending: Pending | null;
  type: string | null;
  kind: MediaKind;
}

/**
 * Counts the strings of one JSON text. Media count by their size where a name says that media stand there and the
 * object or the string declares base64; everything else counts as text.
 */
export class StringCounter {
  /** Tokens of sound and of pictures, and the number of pictures, among what was counted. */
  audioTokens = 0;
  imageTokens = 0;
  images = 0;
  private readonly facts: (ObjectFacts | undefined)[] = [];

  constructor(private readonly bytes: Buffer) {}

  /** Returns the text units of a string at nesting `depth`; strings whose meaning is not clear yet are counted by `close`. */
  count(place: Place, depth: number, start: number, end: number): number {
    if (place === 'text' || place === 'json') return textUnits(this.bytes, start, end);
    if (place === 'source data' || place === 'picture result') return this.postpone(depth, { start, end, place });
    const kind = LINKS.get(place);
    if (kind !== undefined) return this.linkUnits(kind, start, end);
    if (place === 'type') this.noteType(depth, start, end);
    if (place === 'media_type') this.noteMediaType(depth, start, end);
    return this.unitsAt(place, start, end);
  }

  private unitsAt(place: Place, start: number, end: number): number {
    switch (place) {
      case 'audio data':
        return this.mediaUnits('audio', mediaTokens('audio', end - start));
      case 'spoken id':
        return this.mediaUnits('audio', unsizedTokens('audio'));
      case 'sealed':
        return ((end - start) / SEALED_BYTES_PER_TOKEN) * UNITS_PER_TOKEN;
      default:
        return textUnits(this.bytes, start, end);
    }
  }

  /** Returns units of what waited for the end of the object at `depth`. */
  close(depth: number): number {
    const facts = this.facts[depth];
    if (facts === undefined) return 0;
    this.facts[depth] = undefined;
    const { pending, type, kind } = facts;
    if (pending === null) return 0;
    const isMedia = type === (pending.place === 'source data' ? 'base64' : 'image_generation_call');
    if (!isMedia) return textUnits(this.bytes, pending.start, pending.end);
    return this.mediaUnits(kind, mediaTokens(kind, pending.end - pending.start));
  }

  private linkUnits(place: MediaKind, start: number, end: number): number {
    const { kind, tokens } = linkedMedia(place, this.bytes, start, end);
    return kind === null ? tokens * UNITS_PER_TOKEN : this.mediaUnits(kind, tokens);
  }

  private mediaUnits(kind: MediaKind, tokens: number): number {
    this.audioTokens += soundTokens(kind, tokens);
    if (kind === 'image') {
      this.imageTokens += tokens;
      this.images += 1;
    }
    return tokens * UNITS_PER_TOKEN;
  }

  /** Only the last of several members of one name is read by a parser, but which one a provider reads is not known. */
  private postpone(depth: number, pending: Pending): number {
    const facts = this.factsAt(depth);
    const earlier = facts.pending;
    facts.pending = pending;
    return earlier === null ? 0 : textUnits(this.bytes, earlier.start, earlier.end);
  }

  private noteType(depth: number, start: number, end: number): void {
    const facts = this.factsAt(depth);
    const type = this.bytes.toString('latin1', start, Math.min(end, start + MOST_TYPE_BYTES));
    facts.type = facts.type === null || facts.type === type ? type : 'several';
  }

  private noteMediaType(depth: number, start: number, end: number): void {
    const mediaType = this.bytes.toString('latin1', start, Math.min(end, start + MOST_TYPE_BYTES));
    this.factsAt(depth).kind = kindOfType(mediaType) ?? 'file';
  }

  private factsAt(depth: number): ObjectFacts {
    return (this.facts[depth] ??= { pending: null, type: null, kind: 'image' });
  }
}

const MOST_TYPE_BYTES = 32;
