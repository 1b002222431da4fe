import type { BandWidths } from './bands';
import type { Bits } from './bits';
import { SCALE_FACTORS, SPECTRUM } from './codebooks';

/** A feature of a block that this parser does not read. Decoders refuse most of these. */
export class UnusualAac extends Error {}

/** How the windows of a channel are grouped. */
export interface Windows {
  readonly isShort: boolean;
  /** Bands with something in them. */
  readonly bands: number;
  /** Number of windows in each group. */
  readonly groups: readonly number[];
  readonly widths: readonly number[];
}

const EIGHT_SHORT = 2;
const SHORT_WINDOWS = 8;
/**
 * First codebook whose words stand for two values. The spectrum uses codebooks 1 to 11; words of lower ones stand for
 * four.
 */
const FIRST_OF_PAIRS = 5;
const LAST_OF_SPECTRUM = 11;
const RESERVED = 12;
const NOISE = 13;
const NOISE_BITS = 9;

/** Reads the element `ics_info` (ISO 14496-3, 4.4.2.1). */
export function readWindows(bits: Bits, widths: BandWidths): Windows {
  bits.read(1);
  const isShort = bits.read(2) === EIGHT_SHORT;
  bits.read(1);
  const bands = bits.read(isShort ? 4 : 6);
  const windows = {
    isShort,
    bands,
    groups: isShort ? readGroups(bits) : [1],
    widths: isShort ? widths.short : widths.long,
  };
  // Prediction is allowed for long windows, but not in the common AAC profile (LC).
  if ((!isShort && bits.has()) || bands > windows.widths.length) throw new UnusualAac();
  return windows;
}

function readGroups(bits: Bits): readonly number[] {
  const groups = [1];
  for (let window = 1; window < SHORT_WINDOWS; window += 1) {
    if (bits.has()) groups.push(groups.pop()! + 1);
    else groups.push(1);
  }
  return groups;
}

/** Reads the element `individual_channel_stream`. The windows of two channels may have been read before it. */
export function readChannel(bits: Bits, widths: BandWidths, shared: Windows | null): void {
  bits.read(8);
  const windows = shared ?? readWindows(bits, widths);
  const books = readSections(bits, windows);
  readScaleFactors(bits, books);
  if (bits.has()) readPulses(bits, windows);
  if (bits.has()) readNoiseShaping(bits, windows);
  // Gain control belongs to a profile that decoders do not support.
  if (bits.has()) throw new UnusualAac();
  readSpectrum(bits, windows, books);
}

/** Returns the codebooks of all bands, group by group. */
function readSections(bits: Bits, { isShort, bands, groups }: Windows): readonly number[] {
  const books: number[] = [];
  for (const [group] of groups.entries()) {
    const end = (group + 1) * bands;
    while (books.length < end) {
      const book = bits.read(4);
      const length = sectionLength(bits, isShort ? 3 : 5);
      if (book === RESERVED || books.length + length > end || bits.isPastEnd) throw new UnusualAac();
      for (let left = length; left > 0; left -= 1) books.push(book);
    }
  }
  return books;
}

/** The largest value means that another length follows, which is added. */
function sectionLength(bits: Bits, width: number): number {
  const goesOn = (1 << width) - 1;
  let length = 0;
  let part = goesOn;
  while (part === goesOn && !bits.isPastEnd) {
    part = bits.read(width);
    length += part;
  }
  return length;
}

function readScaleFactors(bits: Bits, books: readonly number[]): void {
  let isNoiseBefore = false;
  for (const book of books) {
    if (book === 0) continue;
    if (book === NOISE && !isNoiseBefore) {
      bits.read(NOISE_BITS);
      isNoiseBefore = true;
    } else {
      SCALE_FACTORS.read(bits);
    }
  }
}

function readPulses(bits: Bits, { isShort }: Windows): void {
  if (isShort) throw new UnusualAac();
  const pulses = bits.read(2) + 1;
  bits.position += 6 + pulses * 9;
}

/** Reads the element `tns_data`. */
function readNoiseShaping(bits: Bits, { isShort }: Windows): void {
  for (let window = 0; window < (isShort ? SHORT_WINDOWS : 1); window += 1) {
    const filters = bits.read(isShort ? 1 : 2);
    if (filters === 0) continue;
    const coefficientBits = bits.read(1) + 3;
    for (let filter = 0; filter < filters; filter += 1) {
      bits.read(isShort ? 4 : 6);
      const order = bits.read(isShort ? 3 : 5);
      if (order === 0) continue;
      bits.read(1);
      const isCompressed = bits.has();
      bits.position += order * (coefficientBits - (isCompressed ? 1 : 0));
    }
  }
}

function readSpectrum(bits: Bits, { bands, groups, widths }: Windows, books: readonly number[]): void {
  let band = 0;
  for (const windows of groups) {
    for (let inGroup = 0; inGroup < bands; inGroup += 1) {
      const book = books[band]!;
      band += 1;
      if (book > 0 && book <= LAST_OF_SPECTRUM) readBand(bits, book, windows * widths[inGroup]!);
    }
  }
}

function readBand(bits: Bits, book: number, values: number): void {
  const words = SPECTRUM[book - 1]!;
  const step = book < FIRST_OF_PAIRS ? 4 : 2;
  for (let left = values; left > 0 && !bits.isPastEnd; left -= step) {
    const behind = words.read(bits);
    if (book === LAST_OF_SPECTRUM) readLargeValues(bits, behind);
    else bits.position += behind;
  }
}

/** Most one bits before a large value; decoders treat more as an error. */
const MOST_ONES = 8;

/** Skips large values. Each has n one bits, a zero bit, and n + 4 more bits. */
function readLargeValues(bits: Bits, behind: number): void {
  bits.position += behind % 3;
  for (let left = Math.floor(behind / 3); left > 0; left -= 1) {
    let ones = 0;
    while (bits.has()) ones += 1;
    if (ones > MOST_ONES) throw new UnusualAac();
    bits.position += ones + 4;
  }
}
