import {
  NameWatch,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  closingQuote,
  COMMA,
  isBeyondDouble,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ParsedSize,
} from '@libs/json';
import { StringCounter, type PdfPlace } from './body-media';
import { ByteNames, unescapedName } from './byte-names';
import { hasEscape, isKey, isScalarByte, isSkipped, lastSkipped } from './json-bytes';
import { CacheMarks } from './cache-marks';
import { placeOf } from './media-places';
import { PlaceTrack } from './place-track';
import type { PromptKinds } from '../pricing/prompt-kinds';
import { tokensOfUnits, UNITS_PER_TOKEN } from './text-tokens';

/** Deepest nesting of a JSON text that is parsed; the number of its values is limited by `ParsedSize`. */
export const MAX_DEPTH = 64;
export const MAX_KEYS_PER_OBJECT = 10_000;

/** Problem that is reported for a text with more values than `ParsedSize` allows. */
export const TOO_MANY_VALUES = 'too many values';

/** Longest encoding of a known name in bytes, if each character is escaped. */
const LONGEST_ESCAPED_NAME = 24 * '\\u0000'.length;

/** Units of a token id. */
const SCALAR_UNITS = UNITS_PER_TOKEN;
/** Units for JSON syntax that the model reads: a pair of brackets; the quotes and colon of a name; a comma. */
const BRACKETS_UNITS = 0.75 * UNITS_PER_TOKEN;
const NAME_UNITS = 0.5 * UNITS_PER_TOKEN;
const COMMA_UNITS = 0.5 * UNITS_PER_TOKEN;

/** Request fields that control how it is served and that no model reads. All other fields may be read by the model. */
const CONTROL_MEMBERS = new ByteNames(
  Object.fromEntries(
    [
      'model',
      'models',
      'provider',
      'plugins',
      'route',
      'transforms',
      'session_id',
      'trace',
      'debug',
      'user',
      'metadata',
      'usage',
      'stream',
      'stream_options',
      'service_tier',
      'prompt_cache_key',
      'safety_identifier',
    ].map((name) => [name, true]),
  ),
);

/** Fields whose content providers turn into text. Other fields of a prompt, such as tools, reach the model as JSON. */
const CONVERSATIONS = new ByteNames({ messages: true, input: true, system: true, prompt: true });

/** Commas by nesting depth in the running scan. Shared by all scans, because a scan is never interrupted by another. */
const commasAt = new Int32Array(MAX_DEPTH + 1);
const isObjectAt = new Uint8Array(MAX_DEPTH + 1);
const places = new PlaceTrack(MAX_DEPTH);

export interface JsonShape {
  /** The limit that the text exceeds, or null. */
  readonly problem: string | null;
  /** True if some object key contains a backslash. */
  readonly hasEscapedKey: boolean;
  /** Upper bound of the memory for the parsed values, without the characters of strings. */
  readonly valueBytes: number;
  /** True if some object may contain a name twice; `withoutDoubledNames` then checks it exactly. */
  readonly mayNameTwice: boolean;
  /** Estimate of the prompt, if the text is a request. Bytes after a problem count as text. */
  readonly prompt: PromptEstimate;
}

/** An estimate of the prompt of a request. */
export interface PromptEstimate {
  /** At least 0.5 of the real tokens. Media that cannot be measured count as the most that a provider may read. */
  readonly tokens: number;
  /** The count with usual numbers for text and for such media, for checks that an unusual file must not fail. */
  readonly likelyTokens: number;
  /** Tokens by which media that cannot be measured exceed their usual count. */
  readonly unlikelyMediaTokens: number;
  /** The part of `tokens` that has rates of its own; null if all is plain text. */
  readonly kinds: PromptKinds | null;
  /** PDF files in the prompt. They are included in the counts as unmeasured files. */
  readonly pdfs: readonly PdfPlace[];
  /**
   * The largest possible count if the properties that media state about themselves are false; null if none were used. A
   * file can be built that a provider reads differently than the code here.
   */
  readonly unproven: Pick<PromptEstimate, 'tokens' | 'kinds'> | null;
}

/** Estimate of a prompt that is not known yet. It never counts as too long for an endpoint. */
export const UNKNOWN_PROMPT: PromptEstimate = {
  tokens: 0,
  likelyTokens: 0,
  unlikelyMediaTokens: 0,
  kinds: null,
  pdfs: [],
  unproven: null,
};

/**
 * Counts brackets, commas and the text of prompts in one pass over the bytes of a JSON text. It does not check the
 * grammar; the parser does. It protects the parser from texts that cost more than their size suggests.
 */
export function scanJsonShape(bytes: Buffer): JsonShape {
  return new ShapeScan(bytes).run();
}

class ShapeScan {
  private problem: string | null = null;
  private hasEscapedKey = false;
  private units = 0;
  private depth = 0;
  private readonly size = new ParsedSize();
  /** True if the scan is inside a field that a model may read. */
  private isInPrompt = true;
  private readonly strings: StringCounter;
  private readonly marks: CacheMarks;
  private readonly names: NameWatch;

  constructor(private readonly bytes: Buffer) {
    this.strings = new StringCounter(bytes);
    this.marks = new CacheMarks(bytes);
    this.names = new NameWatch(bytes);
    places.begin();
  }

  run(): JsonShape {
    const { bytes } = this;
    let at = 0;
    for (; at < bytes.length && this.problem === null; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) at = this.passString(at);
      else if (isScalarByte(byte)) at = this.passScalar(at);
      else if (isSkipped(byte)) at = lastSkipped(bytes, at);
      else this.passMark(byte);
    }
    if (this.problem !== null) this.units += this.strings.text(at, bytes.length);
    return {
      problem: this.problem,
      hasEscapedKey: this.hasEscapedKey,
      valueBytes: this.size.bytes,
      // Names with escapes, and names after a problem, are not covered by the hashes.
      mayNameTwice: this.hasEscapedKey || this.problem !== null || this.names.mayNameTwice,
      prompt: this.prompt(),
    };
  }

  private prompt(): PromptEstimate {
    const { unlikelyTextUnits, unlikelyMediaUnits, pdfs, hasClaims, unproven } = this.strings;
    return {
      tokens: tokensOfUnits(this.units),
      likelyTokens: tokensOfUnits(this.units - unlikelyTextUnits - unlikelyMediaUnits),
      unlikelyMediaTokens: tokensOfUnits(unlikelyMediaUnits),
      kinds: this.kinds(this.strings),
      pdfs,
      unproven: hasClaims ? { tokens: tokensOfUnits(this.units + unproven.units), kinds: this.kinds(unproven) } : null,
    };
  }

  private kinds({ audioTokens, pictures }: Pick<StringCounter, 'audioTokens' | 'pictures'>): PromptKinds | null {
    const { images } = this.strings;
    const cacheWrite = this.marks.longest;
    if (pictures === null) {
      return cacheWrite === null && audioTokens === 0 ? null : { audioTokens, imageTokens: 0, images, cacheWrite };
    }
    return { audioTokens, imageTokens: pictures.other, images, imageTokensBy: pictures, cacheWrite };
  }

  private passString(openingQuote: number): number {
    const { bytes, depth } = this;
    const quote = closingQuote(bytes, openingQuote);
    const end = quote === -1 ? bytes.length : quote;
    if (isObjectAt[depth] === 1 && isKey(bytes, end)) this.enterMember(openingQuote + 1, end);
    else {
      this.size.addString();
      if (this.size.isTooLarge) this.problem = TOO_MANY_VALUES;
      if (this.isInPrompt) this.countText(openingQuote + 1, end);
    }
    return end;
  }

  private countText(start: number, end: number): void {
    const { depth } = this;
    this.marks.value(start, end);
    this.units += this.strings.count(places.at(depth), depth, start, end);
  }

  /**
   * Handles the field name between these offsets in the open object. Names at the top level of a request are not part
   * of its prompt.
   */
  private enterMember(start: number, end: number): void {
    this.size.addMember();
    const { bytes, depth } = this;
    const isEscaped = hasEscape(bytes, start, end);
    if (isEscaped) this.hasEscapedKey = true;
    this.names.enter(depth, commasAt[depth]!, start, end);
    if (depth === 1) this.isInPrompt = CONTROL_MEMBERS.find(bytes, start, end) === undefined;
    if (!this.isInPrompt) return;
    this.marks.enter(depth, start, end, isEscaped);
    // Parsers recognize a name with escapes too.
    if (isEscaped && end - start <= LONGEST_ESCAPED_NAME) {
      const name = unescapedName(bytes.toString('utf8', start, end));
      this.enterPlace(name, 0, name.length);
    } else this.enterPlace(bytes, start, end);
    if (depth === 1) return;
    this.units += this.strings.text(start, end);
    this.addMark(NAME_UNITS);
  }

  private enterPlace(bytes: Buffer, start: number, end: number): void {
    const { depth } = this;
    if (depth > 1) places.enter(depth, placeOf(bytes, start, end, places.around(depth)));
    else places.enter(depth, CONVERSATIONS.find(bytes, start, end) === undefined ? 'json' : 'text');
  }

  /** Counts JSON syntax, unless a provider turns the JSON into text. */
  private addMark(units: number): void {
    if (this.isInPrompt && places.around(this.depth) === 'json') this.units += units;
  }

  /** Moves to the last byte of a number or a literal. */
  private passScalar(start: number): number {
    this.size.addNumber();
    if (this.size.isTooLarge) this.problem = TOO_MANY_VALUES;
    const { bytes } = this;
    let end = start + 1;
    while (end < bytes.length && isScalarByte(bytes[end]!)) end += 1;
    if (isBeyondDouble(bytes, start, end)) this.problem = 'a number that is too large';
    // Numbers at the top level are settings. Deeper numbers belong to the prompt, which may be a list of token ids.
    if (this.isInPrompt && this.depth > 1) {
      this.units += places.around(this.depth) === 'json' ? this.strings.text(start, end) : SCALAR_UNITS;
    }
    return end - 1;
  }

  /** Handles brackets and commas. */
  private passMark(byte: number): void {
    if (byte === COMMA) this.countComma();
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open(byte);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.close();
  }

  private countComma(): void {
    const { depth } = this;
    commasAt[depth]! += 1;
    this.size.addComma();
    if (this.size.isTooLarge) this.problem = TOO_MANY_VALUES;
    this.addMark(COMMA_UNITS);
    const isFull = isObjectAt[depth] === 1 && commasAt[depth]! >= MAX_KEYS_PER_OBJECT;
    if (isFull) this.problem = 'too many members in one object';
  }

  private open(bracket: number): void {
    this.depth += 1;
    this.size.addContainer();
    if (this.size.isTooLarge) this.problem = TOO_MANY_VALUES;
    const { depth } = this;
    if (depth > MAX_DEPTH) {
      this.problem = 'too many levels';
      return;
    }
    commasAt[depth] = 0;
    isObjectAt[depth] = bracket === OPEN_OBJECT ? 1 : 0;
    places.open(depth, bracket === OPEN_ARRAY);
    this.strings.isUnclear = places.isUnclear(depth);
    this.addMark(BRACKETS_UNITS);
  }

  private close(): void {
    if (this.depth === 0) {
      this.problem = 'a closing bracket too many';
      return;
    }
    if (this.isInPrompt) this.units += this.strings.close(this.depth);
    this.depth -= 1;
    this.strings.isUnclear = places.isUnclear(this.depth);
  }
}
