import type { MediaBytes } from '../media-bytes';
import type { MediaLength } from '../media-length';
import { OggStream } from './ogg-stream';

const HEAD_BYTES = 27;
/** The longest page. */
const PAGE_BYTES = 65_307;
/** Bytes that are read at once. */
const WINDOW_BYTES = 1024 * 1024;
/** `OggS` */
const CAPTURE = 0x4f676753;
const FIRST_BYTE = 0x4f;
const VERSION = 0;
const IS_FIRST = 2;
/** Most streams of one file, one after the other or in parallel: enough for a day of radio songs. */
const MOST_STREAMS = 256;
/** Most packet pieces: 16 hours of Opus with most encoders. A page takes as long as ten of them. */
const MOST_PIECES = 3_000_000;
const PIECES_OF_PAGE = 10;

/**
 * Returns the length of an Ogg file (RFC 3533) with Opus, Vorbis or Speex: the sum of its streams, by the positions of
 * their pages and by their packets; null without such sound. `longest` is null for a file with other streams, with
 * pages inside pages, or with more streams or packets than recorders write.
 */
export function oggLength(audio: MediaBytes): MediaLength | null {
  const streams = new OggStreams();
  // Pages never share bytes, so their headers together are not longer than the file.
  let bytesLeft = audio.length;
  let piecesLeft = MOST_PIECES;
  for (let from = 0; from < audio.length; from += WINDOW_BYTES - PAGE_BYTES) {
    const window = audio.slice(from, from + WINDOW_BYTES);
    const isLast = from + WINDOW_BYTES >= audio.length;
    const end = isLast ? window.length : WINDOW_BYTES - PAGE_BYTES;
    for (let at = nextPage(window, 0); at < end; at = nextPage(window, at + 1)) {
      const pieces = streams.add(window, at);
      bytesLeft -= HEAD_BYTES + pieces;
      piecesLeft -= PIECES_OF_PAGE + pieces;
      audio.countPlaces(PIECES_OF_PAGE + pieces);
      if (bytesLeft < 0 || piecesLeft < 0 || streams.count > MOST_STREAMS) return UNBOUNDED;
    }
    if (isLast) break;
  }
  const { seconds } = streams;
  return seconds === 0 ? null : { seconds, longest: streams.hasUnknown ? null : seconds, hasPictures: false };
}

const UNBOUNDED: MediaLength = { seconds: 0, longest: null, hasPictures: false };

/**
 * Finds pages at any offset, also inside others: if a page's checksum is wrong, decoders that verify it look for the
 * next page inside that page.
 */
function nextPage(window: Buffer, from: number): number {
  for (let at = from; at + HEAD_BYTES <= window.length; at += 1) {
    if (window[at] === FIRST_BYTE && isPage(window, at)) return at;
  }
  return window.length;
}

function isPage(bytes: Buffer, at: number): boolean {
  return bytes[at + 4] === VERSION && bytes.readUInt32BE(at) === CAPTURE;
}

/** The logical streams of a file by serial number. */
class OggStreams {
  private readonly bySerial = new Map<number, OggStream>();
  private endedSeconds = 0;
  count = 0;
  /** Streams that have ended count too. */
  #hasUnknown = false;

  add(bytes: Buffer, at: number): number {
    const flags = bytes[at + 5]!;
    const serial = bytes.readUInt32LE(at + 14);
    let stream = this.bySerial.get(serial);
    if (stream === undefined || (flags & IS_FIRST) !== 0) {
      this.endedSeconds += stream?.seconds ?? 0;
      this.#hasUnknown ||= stream?.isUnknown === true;
      stream = new OggStream();
      this.count += 1;
      this.bySerial.set(serial, stream);
    }
    return stream.add(bytes, at);
  }

  get hasUnknown(): boolean {
    return this.#hasUnknown || [...this.bySerial.values()].some(({ isUnknown }) => isUnknown);
  }

  get seconds(): number {
    let seconds = this.endedSeconds;
    for (const stream of this.bySerial.values()) seconds += stream.seconds;
    return seconds;
  }
}
