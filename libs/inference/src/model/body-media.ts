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

/** Marks an object that has more than one type. */
const SEVERAL = 'several';
const MOST_WORD_BYTES = 128;

/** A string whose meaning is known only when its object ends. */
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
  /**
   * Number of links whose kind follows from the type of their part. `linkKind` is the most expensive kind that their
   * URLs name.
   */
  links: number;
  linkKind: MediaKind | null;
  /** Number of links in this object, if it is the `source` of a part. */
  sourceLinks: number;
  /** True if the object is a part with a `source`. */
  isPart: boolean;
}

/** What the fields around base64 data declare about it. */
interface Declared {
  readonly kind: MediaKind;
  readonly mediaType: string | null;
  /** True if a provider either treats it as a picture or refuses it. */
  readonly isPicture: boolean;
}

/** A PDF file in a body, as base64. */
export interface PdfPlace {
  readonly start: number;
  readonly end: number;
  /** The token count to use until the file is measured; `usual` is the typical count of such a file. */
  readonly tokens: number;
  readonly usual: number;
}

/** Most PDF files of one body that are measured. */
const MOST_PDFS = 20;

/**
 * Counts the strings of one JSON text. In media fields, base64 that is declared as media counts by its content;
 * anything else counts as the most that a link may lead to. All other strings count as text.
 */
export class StringCounter {
  /** Counted tokens of sound and of pictures, and the counted number of pictures. */
  audioTokens = 0;
  images = 0;
  /** Tokens of pictures by model family; null without pictures. `other` is part of the count. */
  pictures: PictureTokens | null = null;
  /**
   * Additional units if the properties that media state about themselves are ignored; the sound and picture totals in
   * that case.
   */
  readonly unproven = { units: 0, audioTokens: 0, pictures: null as PictureTokens | null };
  /** True if some media were counted by properties that they state about themselves. */
  hasClaims = false;
  /** Text units above those of ordinary text; the next field holds units above the usual count of media. */
  unlikelyTextUnits = 0;
  unlikelyMediaUnits = 0;
  readonly pdfs: PdfPlace[] = [];
  /** True if the scan is inside an unknown field: media there count as text if that gives more. */
  isUnclear = false;
  private readonly facts: (ObjectFacts | undefined)[] = [];
  private budget: ReadBudget | null = null;

  constructor(private readonly bytes: Buffer) {}

  /**
   * Returns the text units of a string at nesting `depth`. A string of unclear meaning is counted later, by `close`.
   */
  count(place: Place, depth: number, start: number, end: number): number {
    if (place === 'text' || place === 'other' || place === 'json') return this.text(start, end);
    if (place === 'source data' || place === 'picture result') return this.postpone(depth, { start, end, place });
    const kind = LINKS.get(place);
    if (kind !== undefined) return this.linkUnits(kind, start, end);
    this.note(place, depth, start, end);
    return this.unitsAt(place, start, end);
  }

  /** Returns the units of a string that counts as text in any field. */
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

  /** Ends the object at `depth`. Returns the units of its strings that could not be counted earlier. */
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

  /** Moves the links of a `source` to the part that contains it. */
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

  /** Returns the units of a string as media or as text, whichever is more, because it may be either. */
  private atLeastText(units: number, [start, end]: readonly [number, number]): number {
    const { mostUnits } = new TextCounter().add(this.bytes, start, end);
    const raised = Math.max(0, mostUnits - units);
    this.unlikelyTextUnits += raised;
    return units + raised;
  }

  /**
   * Returns the units that a medium counts as, and adds it to the sums for its kind.
   * @param trueKind the most expensive kind that it may turn out to be; absent if it is already counted as such
   */
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

  /** If a field name occurs several times, a parser keeps the last, but it is unknown which one a provider reads. */
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

/** Returns the kind to assume for a file that is not a picture, or only claims to be one. */
function fileKindOf({ kind }: CountedMedia): MediaKind {
  return kind === null || kind === 'image' ? 'file' : kind;
}

function sumOf(one: PictureTokens | null, other: PictureTokens): PictureTokens {
  if (one === null) return { ...other };
  const sum = { ...one };
  for (const family of PICTURE_FAMILIES) sum[family] += other[family];
  return sum;
}
