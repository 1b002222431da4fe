import type { MediaBytes } from '../media-bytes';
import { longestOfPackets, type MediaLength } from '../media-length';
import { OPUS_RATE, opusSamples } from './opus';
import { Window } from './window';

const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const TRACKS = 0x1654ae6b;
const TRACK = 0xae;
const TRACK_NUMBER = 0xd7;
const TRACK_TYPE = 0x83;
const CODEC = 0x86;
const CONTENT_ENCODINGS = 0x6d80;
const TIMESTAMP_SCALE_OF_TRACK = 0x23314f;
const DURATION_OF_BLOCKS = 0x23e383;
const DURATION_OF_BLOCK = 0x9b;
const CLUSTER = 0x1f43b675;
const TIMESTAMP = 0xe7;
const GROUP = 0xa0;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;

const PARENTS: readonly number[] = [SEGMENT, INFO, TRACKS, TRACK, CLUSTER, GROUP];
/** Only these may be written before their size is known, and then end where the next of their kind begins. */
const OPEN: readonly number[] = [SEGMENT, CLUSTER];
/** 100 minutes of Opus in packets of 20 ms, five hours in those of browsers. More elements are not looked at. */
const MOST_ELEMENTS = 300_000;
/** What is read of an element: its head, a number, and the first bytes of a packet. */
const MOST_READ = 64;
const DEFAULT_SCALE_NS = 1_000_000;
const VIDEO = 1;
const SUBTITLES = 0x11;
const OPUS = 'A_OPUS';

/**
 * The length of a WebM file (RFC 9559): the latest of what its head states, its last block and its packets of Opus.
 * Recordings of browsers have no duration in the head. The length of other sound is known only after decoding it.
 */
export function webmLength(audio: MediaBytes): MediaLength | null {
  const reader = new WebmReader(audio);
  reader.read();
  return reader.length;
}

interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly isOpen: boolean;
}

interface Track {
  type: number;
  codec: string;
}

class WebmReader {
  private readonly window: Window;
  private readonly tracks = new Map<number, Track>();
  private readonly packetsOf = new Map<string, number>();
  private track: Track = { type: 0, codec: '' };
  private scaleNs = 0;
  private duration = 0;
  private clusterTime = 0;
  private latest = 0;
  private blockTime = 0;
  /** Of the blocks of a track, in nanoseconds. */
  private usualNs = 0;
  private opus = 0;
  private hasPictures = false;
  /** Whether every decoder finds what was found here, and no more. */
  private isBounded = true;

  constructor(private readonly audio: MediaBytes) {
    this.window = new Window(audio, MOST_READ);
  }

  get length(): MediaLength | null {
    const { hasPictures } = this;
    const blocks = this.latest * ((this.scaleNs || DEFAULT_SCALE_NS) / 1e9) + this.usualNs / 1e9;
    const played = Math.max(this.latest === 0 ? 0 : blocks, this.opus / OPUS_RATE);
    const seconds = Math.max(played, (this.duration * (this.scaleNs || DEFAULT_SCALE_NS)) / 1e9);
    return seconds > 0 ? { seconds, longest: this.isBounded ? this.longestOf(seconds) : null, hasPictures } : null;
  }

  /** By the packets of other sound too; null where nothing bounds them. */
  private longestOf(seconds: number): number | null {
    const packets = [...this.packetsOf].map(([codec, count]) => longestOfPackets(codec, count, this.audio.length));
    return packets.includes(null) ? null : Math.max(seconds, ...packets.map(Number));
  }

  /** Walks through all elements, into those that have others. */
  read(): void {
    const ends = [this.audio.length];
    let position = 0;
    for (let count = 0; position < this.audio.length; count += 1) {
      while (position >= ends.at(-1)!) ends.pop();
      const element = this.elementAt(position, ends.at(-1)!);
      if (element === null || count > MOST_ELEMENTS) {
        this.isBounded = false;
        return;
      }
      if (PARENTS.includes(element.id)) {
        if (!element.isOpen) ends.push(element.end);
        if (element.id === TRACK) this.track = { type: 0, codec: '' };
        position = element.start;
      } else {
        this.take(element);
        position = element.end;
      }
    }
  }

  /** Null for what is no element, or goes on behind the end of the one that it is in. */
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
    if (element.id !== TRACK_NUMBER) return;
    const number = this.unsigned(element);
    this.isBounded &&= !this.tracks.has(number);
    this.tracks.set(number, this.track);
  }

  /** A block has the number of its track, its time after that of the cluster, flags, and one packet or several. */
  private takeBlock({ start, end }: Element): void {
    const at = this.window.offsetOf(start);
    const { bytes } = this.window;
    const numberBytes = Math.clz32(bytes[at]!) - 23;
    const flagsAt = at + numberBytes + 2;
    if (numberBytes > 4 || flagsAt - at >= end - start) {
      this.isBounded = false;
      return;
    }
    const track = this.tracks.get(numberAt(bytes, at, numberBytes));
    this.blockTime = this.clusterTime + bytes.readInt16BE(flagsAt - 2);
    this.latest = Math.max(this.latest, this.blockTime);
    const isLaced = (bytes[flagsAt]! & LACING) !== 0;
    const packets = isLaced ? (bytes[flagsAt + 1] ?? 0) + 1 : 1;
    if (track?.codec === OPUS) {
      this.opus += isLaced ? packets * MOST_OPUS_SAMPLES : opusSamples(bytes, flagsAt + 1);
    } else {
      this.takeOther(track, packets);
    }
  }

  private takeOther(track: Track | undefined, packets: number): void {
    if (track?.type === VIDEO && track.codec.startsWith('V_')) {
      this.hasPictures = true;
      return;
    }
    const codec = track?.codec ?? '';
    if (track?.type === SUBTITLES && codec.startsWith('S_')) return;
    this.packetsOf.set(codec, (this.packetsOf.get(codec) ?? 0) + packets);
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

const LACING = 0x06;
/** 120 ms. */
const MOST_OPUS_SAMPLES = 5_760;

/** Returns a number whose first set bit says how many bytes it has. */
function numberAt(bytes: Buffer, at: number, length: number): number {
  let value = bytes[at]! & (0xff >> length);
  for (let next = at + 1; next < at + length; next += 1) value = value * 256 + bytes[next]!;
  return value;
}
