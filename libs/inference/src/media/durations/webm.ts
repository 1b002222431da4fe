import type { MediaBytes } from '../media-bytes';
import { longestMp3, type MediaLength } from '../media-length';
import { AAC_RATES, rateCodeAt } from './aac/configuration';
import { FramePlaces } from './frame-places';
import { OPUS_RATE, opusSamples } from './opus';
import {
  TIMESTAMP_SCALE,
  DURATION,
  TRACK,
  TRACK_NUMBER,
  TRACK_TYPE,
  CODEC,
  CODEC_PRIVATE,
  CONTENT_ENCODINGS,
  TIMESTAMP_SCALE_OF_TRACK,
  DURATION_OF_BLOCKS,
  DURATION_OF_BLOCK,
  TIMESTAMP,
  SIMPLE_BLOCK,
  BLOCK,
  PARENTS,
  OPEN,
  closeBefore,
  isAtItsPlace,
  type Element,
} from './webm-elements';
import { Window } from './window';

/**
 * Most elements that are read: 100 minutes of Opus in packets of 20 ms, or five hours in the packets that browsers
 * write.
 */
const MOST_ELEMENTS = 300_000;
/** Bytes of an element that are read: its header, a number, and the first bytes of a packet. */
const MOST_READ = 64;
const DEFAULT_SCALE_NS = 1_000_000;
const VIDEO = 1;
const SUBTITLES = 0x11;
const OPUS = 'A_OPUS';
const MP3 = 'A_MPEG/L3';
const AAC = 'A_AAC';
const SAMPLES_OF_AAC = 1_024;

/**
 * Returns the length of a WebM file (RFC 9559): the latest of the duration in its header, its last block and its Opus
 * packets. Browsers write no duration into the header. The length of other sound is known only after decoding it.
 */
export function webmLength(audio: MediaBytes): MediaLength | null {
  const reader = new WebmReader(audio);
  reader.read();
  return reader.length;
}

interface Track {
  type: number;
  codec: string;
  configuration: Buffer;
  /** Offsets of the AAC packets. */
  readonly places: FramePlaces;
}

const newTrack = (): Track => ({ type: 0, codec: '', configuration: Buffer.alloc(0), places: new FramePlaces() });

class WebmReader {
  private readonly window: Window;
  private readonly tracks = new Map<number, Track>();
  private track = newTrack();
  private scaleNs = 0;
  private duration = 0;
  private clusterTime = 0;
  private latest = 0;
  private blockTime = 0;
  /** Default duration of the blocks of a track, in nanoseconds. */
  private usualNs = 0;
  private opus = 0;
  private pictures = 0;
  private hasMp3 = false;
  /** True if every decoder finds the same elements as this reader and no others. */
  private isBounded = true;

  constructor(private readonly audio: MediaBytes) {
    this.window = new Window(audio, MOST_READ);
  }

  get length(): MediaLength | null {
    const hasPictures = this.pictures > 0;
    // Decoders that ignore the timestamps of pictures show each for the default duration.
    const shown = (Math.max(1, this.pictures) * this.usualNs) / 1e9;
    const blocks = Math.max(this.latest * ((this.scaleNs || DEFAULT_SCALE_NS) / 1e9) + this.usualNs / 1e9, shown);
    const played = Math.max(blocks, this.opus / OPUS_RATE);
    const seconds = Math.max(played, (this.duration * (this.scaleNs || DEFAULT_SCALE_NS)) / 1e9);
    return seconds > 0 ? { seconds, longest: this.isBounded ? this.longestOf(seconds) : null, hasPictures } : null;
  }

  /** Returns the longest that the sound can play, in seconds; null if the length of the AAC sound is not limited. */
  private longestOf(seconds: number): number | null {
    const aac = [...this.tracks.values()].map((track) => this.secondsOfAac(track));
    const mp3 = this.hasMp3 ? longestMp3(this.audio.length) : 0;
    return aac.includes(null) ? null : Math.max(seconds, mp3, ...aac.map(Number));
  }

  private secondsOfAac({ codec, configuration, places }: Track): number | null {
    if (codec !== AAC) return 0;
    const rateCode = rateCodeAt(configuration, 0);
    if (rateCode === null || !places.areBlocks(this.audio, rateCode)) return null;
    return (places.count * SAMPLES_OF_AAC) / AAC_RATES[rateCode]!;
  }

  /** Walks through all elements, including nested ones. */
  read(): void {
    const open: Element[] = [];
    let position = 0;
    for (let count = 0; position < this.audio.length; count += 1) {
      closeBefore(position, open);
      const element = this.elementAt(position, open.at(-1)?.end ?? this.audio.length);
      if (element === null || count > MOST_ELEMENTS || !isAtItsPlace(element.id, open)) {
        this.isBounded = false;
        return;
      }
      if (PARENTS.includes(element.id)) {
        open.push(element);
        if (element.id === TRACK) this.track = newTrack();
        position = element.start;
      } else {
        this.take(element);
        position = element.end;
      }
    }
  }

  /** Returns the element at a position; null if it is invalid or ends after its parent. */
  private elementAt(position: number, limit: number): Element | null {
    const at = this.window.offsetOf(position);
    const { bytes } = this.window;
    const idBytes = Math.clz32(bytes[at]!) - 23;
    const sizeAt = at + idBytes;
    if (idBytes > 4 || sizeAt >= bytes.length) return null;
    const sizeBytes = Math.clz32(bytes[sizeAt]!) - 23;
    if (sizeBytes > 8 || sizeAt + sizeBytes > bytes.length) return null;
    const id = bytes.readUIntBE(at, idBytes);
    const size = numberAt(bytes, sizeAt, sizeBytes);
    const isOpen = size === 2 ** (7 * sizeBytes) - 1;
    const start = position + idBytes + sizeBytes;
    if (isOpen ? !OPEN.includes(id) : start + size > limit) return null;
    return { id, start, end: isOpen ? limit : start + size, isOpen };
  }

  private take(element: Element): void {
    switch (element.id) {
      case SIMPLE_BLOCK:
      case BLOCK:
        return this.takeBlock(element);
      case TIMESTAMP:
        this.clusterTime = this.unsigned(element);
        return;
      case TIMESTAMP_SCALE:
        this.scaleNs = Math.max(this.scaleNs, this.unsigned(element));
        return;
      case DURATION:
        this.duration = Math.max(this.duration, this.float(element));
        return;
      case CONTENT_ENCODINGS:
        this.isBounded = false;
        return;
      case TIMESTAMP_SCALE_OF_TRACK:
        this.isBounded &&= this.float(element) === 1;
        return;
      default:
        this.takeOfTrack(element);
        this.takeDuration(element);
    }
  }

  private takeDuration(element: Element): void {
    if (element.id === DURATION_OF_BLOCKS) this.usualNs = Math.max(this.usualNs, this.unsigned(element));
    if (element.id !== DURATION_OF_BLOCK) return;
    this.latest = Math.max(this.latest, this.blockTime + this.unsigned(element));
  }

  private takeOfTrack(element: Element): void {
    if (element.id === TRACK_TYPE) this.track.type = this.unsigned(element);
    if (element.id === CODEC) this.track.codec = this.content(element).toString('latin1').replaceAll('\0', '');
    // Copied, because the window's bytes are overwritten when reading continues.
    if (element.id === CODEC_PRIVATE) this.track.configuration = Buffer.from(this.content(element));
    if (element.id !== TRACK_NUMBER) return;
    const number = this.unsigned(element);
    this.isBounded &&= !this.tracks.has(number);
    this.tracks.set(number, this.track);
  }

  /** Reads a block: the number of its track, its time relative to the cluster, flags, and one or more packets. */
  private takeBlock({ start, end }: Element): void {
    const at = this.window.offsetOf(start);
    const { bytes } = this.window;
    const numberBytes = Math.clz32(bytes[at]!) - 23;
    const flagsAt = at + numberBytes + 2;
    this.isBounded &&= isWithin(numberBytes, flagsAt - at, end - start);
    if (!this.isBounded) return;
    this.blockTime = this.clusterTime + bytes.readInt16BE(flagsAt - 2);
    this.latest = Math.max(this.latest, this.blockTime);
    this.isBounded = this.blockTime >= 0;
    const track = this.tracks.get(numberAt(bytes, at, numberBytes));
    const isLaced = (bytes[flagsAt]! & LACING) !== 0;
    // Packets of a laced block have separate times and lengths, which are not read here.
    this.isBounded &&= !isLaced || track?.codec === OPUS;
    switch (track?.codec) {
      case OPUS:
        this.opus += isLaced ? mostLacedSamples(bytes, flagsAt + 1) : opusSamples(bytes, flagsAt + 1);
        return;
      case AAC:
        track.places.add(start + flagsAt + 1 - at, end - start - (flagsAt + 1 - at));
        return;
      default:
        this.takeOther(track);
    }
  }

  /** Handles packets of other codecs. They may hold any number of frames; those of MP3 are limited by their bytes. */
  private takeOther({ type, codec }: Track = newTrack()): void {
    if (type === VIDEO && codec.startsWith('V_')) this.pictures += 1;
    else if (codec === MP3) this.hasMp3 = true;
    else this.isBounded &&= type === SUBTITLES && codec.startsWith('S_');
  }

  private content({ start, end }: Element): Buffer {
    const at = this.window.offsetOf(start);
    return this.window.bytes.subarray(at, at + Math.min(end - start, MOST_READ));
  }

  private unsigned(element: Element): number {
    const bytes = this.content(element);
    if (bytes.length >= 1 && bytes.length <= 6) return bytes.readUIntBE(0, bytes.length);
    this.isBounded &&= bytes.length === 0;
    return 0;
  }

  private float(element: Element): number {
    const bytes = this.content(element);
    const value = bytes.length === 4 ? bytes.readFloatBE() : bytes.length === 8 ? bytes.readDoubleBE() : 0;
    return Number.isFinite(value) ? value : 0;
  }
}

/** Returns whether the header of a block lies inside the block. */
function isWithin(numberBytes: number, headBytes: number, blockBytes: number): boolean {
  return numberBytes <= 4 && headBytes < blockBytes;
}

const LACING = 0x06;
/** 120 ms. */
const MOST_OPUS_SAMPLES = 5_760;

/** Returns the most samples of a block with several Opus packets. Their number minus one is its first byte. */
function mostLacedSamples(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) + 1) * MOST_OPUS_SAMPLES;
}

/** Reads a number whose first set bit gives its length in bytes. */
function numberAt(bytes: Buffer, at: number, length: number): number {
  let value = bytes[at]! & (0xff >> length);
  for (let next = at + 1; next < at + length; next += 1) value = value * 256 + bytes[next]!;
  return value;
}
