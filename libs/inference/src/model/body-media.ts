import { Base64Bytes, ReadBudget } from '../media/base64-bytes';
import { unescapedName } from './byte-names';
import { MEDIA_LIMITS } from './media-limits';
import { KINDS_OF_PARTS, LINKS, PICTURE_ITEM, UNCLEAR, type Place } from './media-places';
import { dearer, readMediaString } from './media-string';
import { inlineMedia, kindOfType, soundTokens, unknownMedia, type CountedMedia, type MediaKind } from './media-tokens';
import { PICTURE_FAMILIES, type PictureTokens } from './picture-tokens';
import { TextCounter, UNITS_PER_TOKEN } from './text-tokens';

/** Base64 bytes per token of encrypted thoughts. */
const SEALED_BYTES_PER_TOKEN = 4;

/** The type of an object that has more than one. */
const SEVERAL = 'several';
const MOST_WORD_BYTES = 128;

/** A string whose meaning is known only at the end of its object. */
interface Pending {
  readonly start: number;
  readonly end: number;
  readonly place: 'source data' | 'picture result';
}

/** The media fields of one JSON object. */
interface ObjectFacts {
  pending: Pending | null;
  type: string | null;
  mediaType: string | null;
  /** Links whose kind follows from the type of their part, and the most expensive kind that their URLs name. */
  links: number;
  linkKind: MediaKind | null;
  /** Links in this object as the `source` of a part. */
  sourceLinks: number;
  /** Whether it is a part with a `source`. */
  isPart: boolean;
}

/** What the fields around base64 say of it. */
interface Declared {
  readonly kind: MediaKind;
  readonly mediaType: string | null;
  /** Whether a provider takes it for a picture or refuses it. */
  readonly isPicture: boolean;
}

/** A PDF file in a body, as base64. */
export interface PdfPlace {
  readonly start: number;
  readonly end: number;
  /** The count until it is measured, and the usual count of such a file. */
  readonly tokens: number;
  readonly usual: number;
}

/** Further PDF files of one body are not measured. */
const MOST_PDFS = 20;

/**
 * Counts the strings of one JSON text. In fields for media, base64 that is declared as such counts by its content, and
 * anything else as the most that a link may lead to. All other strings count as text.
 */
export class StringCounter {
  /** Tokens of sound and of pictures, and the number of pictures, among what was counted. */
  audioTokens = 0;
  images = 0;
  /** The tokens of pictures by families of models; null without pictures. `other` are among what was counted. */
  pictures: PictureTokens | null = null;
  /** What media add if nothing is believed that they say of themselves: units beyond the count, sound and pictures in all. */
  readonly unproven = { units: 0, audioTokens: 0, pictures: null as PictureTokens | null };
  /** Whether some media were counted by what they say of themselves. */
  hasClaims = false;
  /** Text units that were counted beyond what ordinary text has, and beyond what media usually have. */
  unlikelyTextUnits = 0;
  unlikelyMediaUnits = 0;
  readonly pdfs: PdfPlace[] = [];
  /** Whether the scan is inside an unknown member: media there count as text if that is more. */
  isUnclear = false;
  private readonly facts: (ObjectFacts | undefined)[] = [];
  private budget: ReadBudget | null = null;

  constructor(private readonly bytes: Buffer) {}

  /** Returns the text units of a string at nesting `depth`; a string of unclear meaning is counted by `close`. */
  count(place: Place, depth: number, start: number, end: number): number {
    if (place === 'text' || place === 'other' || place === 'json') return this.text(start, end);
    if (place === 'source data' || place === 'picture result') return this.postpone(depth, { start, end, place });
    const kind = LINKS.get(place);
    if (kind !== undefined) return this.linkUnits(kind, start, end);
    this.note(place, depth, start, end);
    return this.unitsAt(place, start, end);
  }

  /** Returns the units of a string that is text in any field. */
  text(start: number, end: number): number {
    const { units, mostUnits } = new TextCounter().add(this.bytes, start, end);
    this.unlikelyTextUnits += mostUnits - units;
    return mostUnits;
  }

  private note(place: Place, depth: number, start: number, end: number): void {
    if (place === 'type') this.noteType(depth, start, end);
    else if (place === 'media_type') this.factsAt(depth).mediaType = this.wordAt(start, end);
    else if (place === 'typed link' || place === 'source link') this.noteLink(place, depth, [start, end]);
  }

  private unitsAt(place: Place, start: number, end: number): number {
    switch (place) {
      case 'audio data':
        return this.recordingUnits([start, end]);
      case 'spoken id':
        return this.atLeastText(this.unitsOf({ ...unknownMedia('audio'), tokens: MEDIA_LIMITS.spokenAnswer }), [
          start,
          end,
        ]);
      case 'sealed':
        return this.sealedUnits(start, end);
      default:
        return this.text(start, end);
    }
  }

  /** Ends the object at `depth`. Returns the units of its strings that could not be counted before. */
  close(depth: number): number {
    const facts = this.facts[depth];
    if (facts === undefined) return 0;
    this.facts[depth] = undefined;
    if (facts.sourceLinks > 0) this.handOn(facts, depth - 1);
    return this.pendingUnits(facts) + this.typedUnits(facts);
  }

  private pendingUnits({ pending, type, mediaType }: ObjectFacts): number {
    if (pending === null) return 0;
    const { start, end, place } = pending;
    const isMedia = type === (place === 'source data' ? 'base64' : PICTURE_ITEM);
    if (!isMedia && type !== SEVERAL) return this.text(start, end);
    const said = place === 'source data' ? 'file' : 'image';
    const isPicture = said === 'image' || (mediaType !== null && kindOfType(mediaType) === 'image');
    const units = this.dataUnits({ kind: said, mediaType, isPicture }, [start, end]);
    return isMedia && !this.isUnclear ? units : this.atLeastText(units, [start, end]);
  }

  /** Moves the links in a `source` to the part that contains it. */
  private handOn({ sourceLinks, linkKind }: ObjectFacts, depth: number): void {
    const part = this.factsAt(depth);
    part.links += sourceLinks;
    part.isPart = true;
    if (linkKind !== null) part.linkKind = dearer(linkKind, part.linkKind);
  }

  private typedUnits({ links, isPart, linkKind, type }: ObjectFacts): number {
    if (links === 0) return 0;
    const said = KINDS_OF_PARTS.get(type) ?? (isPart || type === SEVERAL ? UNCLEAR : null);
    if (said === null) return 0;
    let units = 0;
    for (let count = 0; count < links; count += 1) units += this.unitsOf(unknownMedia(dearer(said, linkKind)));
    return units;
  }

  private linkUnits(kind: MediaKind, start: number, end: number): number {
    const range = [start, end] as const;
    const found = readMediaString(this.bytes, { kind, mayBeBare: kind !== 'image' }, range);
    if (found.form === 'link') return this.atLeastText(this.unitsOf(unknownMedia(found.kind)), range);
    const { mediaType } = found;
    const isPicture = kind === 'image' && (mediaType === null || kindOfType(mediaType) === 'image');
    const declared = { kind, mediaType, isPicture };
    const units = this.dataUnits(declared, [found.start, found.end]);
    return found.start === start || this.isUnclear ? this.atLeastText(units, range) : units;
  }

  private dataUnits({ kind, mediaType, isPicture }: Declared, [start, end]: readonly [number, number]): number {
    this.budget ??= new ReadBudget();
    const bytes = Base64Bytes.ofJson(this.bytes, start, end, this.budget);
    const media = inlineMedia(kind, mediaType, bytes);
    const { isPdf = false, isGarbage = false, tokens, usual } = media;
    if (isPdf && this.pdfs.length < MOST_PDFS && bytes.isPlain()) this.pdfs.push({ start, end, tokens, usual });
    this.hasClaims = true;
    const units = this.unitsOf(media, isPicture && media.kind === 'image' ? 'image' : fileKindOf(media));
    return isGarbage ? this.atLeastText(units, [start, end]) : units;
  }

  private recordingUnits(range: readonly [number, number]): number {
    const units = this.dataUnits({ kind: 'audio', mediaType: null, isPicture: false }, range);
    return this.isUnclear ? this.atLeastText(units, range) : units;
  }

  private sealedUnits(start: number, end: number): number {
    const units = ((end - start) / SEALED_BYTES_PER_TOKEN) * UNITS_PER_TOKEN;
    if (this.isUnclear) return this.atLeastText(units, [start, end]);
    this.hasClaims = true;
    this.unproven.units += Math.max(0, new TextCounter().add(this.bytes, start, end).mostUnits - units);
    return units;
  }

  /** Returns the units of a string as media or as text, whichever is more: it may turn out to be text. */
  private atLeastText(units: number, [start, end]: readonly [number, number]): number {
    const { mostUnits } = new TextCounter().add(this.bytes, start, end);
    const raised = Math.max(0, mostUnits - units);
    this.unlikelyTextUnits += raised;
    return units + raised;
  }

  /** @param trueKind the most expensive kind that it may turn out to be; absent where it counts as such already */
  private unitsOf(media: CountedMedia, trueKind?: MediaKind): number {
    const { kind, tokens, usual, pictures } = media;
    const most = trueKind === undefined ? media : unknownMedia(trueKind);
    this.unlikelyMediaUnits += (tokens - usual) * UNITS_PER_TOKEN;
    if (kind !== null) this.audioTokens += soundTokens(kind, tokens);
    if (pictures !== undefined) {
      this.images += 1;
      this.pictures = sumOf(this.pictures, pictures);
    }
    const { unproven } = this;
    unproven.units += (most.tokens - tokens) * UNITS_PER_TOKEN;
    if (most.kind !== null) unproven.audioTokens += soundTokens(most.kind, most.tokens);
    if (most.pictures !== undefined) unproven.pictures = sumOf(unproven.pictures, most.pictures);
    return tokens * UNITS_PER_TOKEN;
  }

  /** Only the last of several members of one name is read by a parser, but which one a provider reads is not known. */
  private postpone(depth: number, pending: Pending): number {
    const facts = this.factsAt(depth);
    const earlier = facts.pending;
    facts.pending = pending;
    return earlier === null ? 0 : this.pendingUnits({ ...facts, pending: earlier, type: SEVERAL });
  }

  private noteLink(place: 'typed link' | 'source link', depth: number, range: readonly [number, number]): void {
    const facts = this.factsAt(depth);
    if (place === 'source link') facts.sourceLinks += 1;
    else facts.links += 1;
    const found = readMediaString(this.bytes, { kind: 'image', mayBeBare: false }, range);
    if (found.form === 'link') facts.linkKind = dearer(found.kind, facts.linkKind);
  }

  private noteType(depth: number, start: number, end: number): void {
    const facts = this.factsAt(depth);
    const type = this.wordAt(start, end);
    facts.type = facts.type === null || facts.type === type ? type : SEVERAL;
  }

  private wordAt(start: number, end: number): string {
    const word = this.bytes.toString('latin1', start, Math.min(end, start + MOST_WORD_BYTES));
    return word.includes('\\') ? unescapedName(word).toString('latin1') : word;
  }

  private factsAt(depth: number): ObjectFacts {
    return (this.facts[depth] ??= {
      pending: null,
      type: null,
      mediaType: null,
      links: 0,
      linkKind: null,
      sourceLinks: 0,
      isPart: false,
    });
  }
}

/** What a file may be that is no picture, or only says so. */
function fileKindOf({ kind }: CountedMedia): MediaKind {
  return kind === null || kind === 'image' ? 'file' : kind;
}

function sumOf(one: PictureTokens | null, other: PictureTokens): PictureTokens {
  if (one === null) return { ...other };
  const sum = { ...one };
  for (const family of PICTURE_FAMILIES) sum[family] += other[family];
  return sum;
}
