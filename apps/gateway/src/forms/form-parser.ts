import { GatheredPieces } from '@libs/contracts';
import { malformed, readPart, type FormPart } from './form-part';

const MOST_PARTS = 20;
const MOST_FIELD_BYTES = 64 * 1024;
const MOST_HEADER_BYTES = 8 * 1024;
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

const CRLF = Buffer.from('\r\n');
const HEADERS_END = Buffer.from('\r\n\r\n');
const DASH = 0x2d;
/** The bytes after the last delimiter. */
const LAST_END = Buffer.from('--\r\n');

export interface FormListener {
  onField(name: string, value: string): void;
  /**
   * Called for the one expected file; others are refused before. `framing` is the number of bytes of the form outside
   * the file, if no part follows it.
   */
  onFile(part: FormPart, framing: number): void;
  /** Called with each piece of the file. The bytes are in the socket's memory and are not copied. */
  onFileData(piece: Buffer): void;
}

type State = 'preamble' | 'delimiter' | 'headers' | 'body' | 'done';

/**
 * Parses a form with one file (RFC 7578) while it arrives. Passes the bytes of the file on in the pieces in which they
 * arrived; the size of everything else is limited.
 *
 * Stricter than general form parsers, because the forms of our routes are known: nothing precedes the first delimiter,
 * every part has a name, no part is encoded or is a form itself, and the last delimiter is present. Everything else is
 * `invalid_request`.
 */
export class FormParser {
  readonly #first: Buffer;
  /** The delimiter, including the line end before it. */
  readonly #delimiter: Buffer;
  #state: State = 'preamble';
  /** Bytes that have arrived but cannot be interpreted yet; never longer than a delimiter or the head of a part. */
  #rest: Buffer = Buffer.alloc(0);
  /** Number of bytes of the form that have been consumed. */
  #position = 0;
  #part: FormPart | null = null;
  readonly #field = new GatheredPieces();
  #parts = 0;

  constructor(
    contentType: string,
    private readonly fileField: string,
    private readonly listener: FormListener,
  ) {
    const boundary = boundaryOf(contentType);
    this.#first = Buffer.from(`--${boundary}`, 'latin1');
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  write(piece: Buffer): void {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = Buffer.alloc(0);
    for (;;) {
      const taken = this.#take(bytes);
      if (taken === null) break;
      this.#position += taken;
      bytes = bytes.subarray(taken);
    }
  }

  /** @throws AppError if the last delimiter has not arrived */
  end(): void {
    if (this.#state !== 'done') throw malformed('it ends before its last boundary');
  }

  /** Returns how many bytes a step has consumed; null if there are too few for a step. Those are kept. */
  #take(bytes: Buffer): number | null {
    switch (this.#state) {
      case 'preamble':
        return this.#takePreamble(bytes);
      case 'delimiter':
        return this.#takeDelimiter(bytes);
      case 'headers':
        return this.#takeHeaders(bytes);
      case 'body':
        return this.#takeBody(bytes);
      case 'done':
        // Bytes after the last delimiter are ignored (RFC 2046 §5.1.1).
        return null;
    }
  }

  #takePreamble(bytes: Buffer): number | null {
    const first = bytes[0] === CRLF[0] ? this.#delimiter : this.#first;
    const length = Math.min(first.length, bytes.length);
    if (!bytes.subarray(0, length).equals(first.subarray(0, length))) {
      throw malformed('it does not begin with its boundary');
    }
    if (bytes.length < first.length) return this.#keep(bytes);
    this.#state = 'delimiter';
    return first.length;
  }

  /** After a boundary: two dashes for the end of the form, or a line end, possibly after spaces. */
  #takeDelimiter(bytes: Buffer): number | null {
    if (bytes.length < 2) return this.#keep(bytes);
    if (bytes[0] === DASH && bytes[1] === DASH) {
      this.#state = 'done';
      return bytes.length;
    }
    const end = bytes.indexOf(CRLF);
    const padding = end === -1 ? bytes : bytes.subarray(0, end);
    if (padding.length > 64 || !/^[ \t\r]*$/.test(padding.toString('latin1'))) throw malformed('a boundary has no end');
    if (end === -1) return this.#keep(bytes);
    this.#state = 'headers';
    return end + CRLF.length;
  }

  #takeHeaders(bytes: Buffer): number | null {
    const end = bytes.indexOf(HEADERS_END);
    if ((end === -1 ? bytes.length : end) > MOST_HEADER_BYTES) throw malformed('the head of a part is too long');
    if (end === -1) return this.#keep(bytes);
    this.#parts += 1;
    if (this.#parts > MOST_PARTS) throw malformed('it has too many parts');
    const part = readPart(bytes.toString('utf8', 0, end));
    const isFile = part.filename !== null;
    if (isFile !== (part.name === this.fileField)) {
      throw malformed(`the one file must be in the field ${this.fileField}`);
    }
    this.#part = part;
    this.#state = 'body';
    const taken = end + HEADERS_END.length;
    if (isFile) this.listener.onFile(part, this.#position + taken + this.#delimiter.length + LAST_END.length);
    return taken;
  }

  #takeBody(bytes: Buffer): number | null {
    const at = bytes.indexOf(this.#delimiter);
    if (at !== -1) {
      this.#addToPart(bytes.subarray(0, at));
      this.#endPart();
      this.#state = 'delimiter';
      return at + this.#delimiter.length;
    }
    const safe = startOfDelimiter(bytes, this.#delimiter);
    this.#addToPart(bytes.subarray(0, safe));
    this.#position += safe;
    return this.#keep(bytes.subarray(safe));
  }

  #addToPart(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#part!.filename !== null) {
      this.listener.onFileData(bytes);
      return;
    }
    if (this.#field.bytes + bytes.length > MOST_FIELD_BYTES) throw malformed('a field is too long');
    this.#field.add(bytes);
  }

  #endPart(): void {
    const { name, filename } = this.#part!;
    if (filename === null) this.listener.onField(name, textOf(this.#field.take()));
  }

  #keep(bytes: Buffer): null {
    // Copied, because the rest of this memory may belong to the file.
    this.#rest = Buffer.from(bytes);
    return null;
  }
}

/** Returns the offset at the end of some bytes at which a delimiter may have begun. */
function startOfDelimiter(bytes: Buffer, delimiter: Buffer): number {
  let at = Math.max(0, bytes.length - delimiter.length + 1);
  for (;;) {
    at = bytes.indexOf(delimiter[0]!, at);
    if (at === -1) return bytes.length;
    if (bytes.subarray(at).equals(delimiter.subarray(0, bytes.length - at))) return at;
    at += 1;
  }
}

/**
 * Returns the boundary of a Content-Type.
 * @throws AppError invalid_request if there is none, or if no body can contain it
 */
function boundaryOf(contentType: string): string {
  const match = /;[ \t]*boundary[ \t]*=[ \t]*(?:"([^"]*)"|([^;\s"]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2] ?? '';
  if (!BOUNDARY.test(boundary)) throw malformed('its Content-Type names no boundary of 1 to 70 characters');
  return boundary;
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer): string {
  try {
    return DECODER.decode(bytes);
  } catch {
    throw malformed('a field is not valid UTF-8');
  }
}
