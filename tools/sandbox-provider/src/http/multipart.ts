import { SandboxError } from './sandbox-error';
import type { Call } from './reply';

const MAXIMUM_PARTS = 100;
const MAXIMUM_HEADER_BYTES = 8_192;
const LINE_END = Buffer.from('\r\n');
const HEADERS_END = Buffer.from('\r\n\r\n');

export interface UploadedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** A form as RFC 7578 sends it. */
export class MultipartForm {
  private readonly fields = new Map<string, string[]>();
  private readonly files = new Map<string, UploadedFile>();

  add(name: string, filename: string | null, contentType: string, bytes: Buffer): void {
    if (filename !== null) {
      this.files.set(name, { filename, contentType, bytes });
      return;
    }
    this.fields.set(name, [...this.all(name), bytes.toString('utf8')]);
  }

  /** The field's last value. */
  field(name: string): string | undefined {
    return this.fields.get(name)?.at(-1);
  }

  /** Every value of a field that may be repeated, under its name with or without `[]`. */
  all(name: string): readonly string[] {
    return [...(this.fields.get(name) ?? [])];
  }

  list(name: string): readonly string[] {
    return [...this.all(name), ...this.all(`${name}[]`)];
  }

  file(name: string): UploadedFile {
    const file = this.files.get(name);
    if (!file) throw new SandboxError(400, `Missing required parameter: '${name}'`, name);
    return file;
  }
}

export function isMultipart(call: Call): boolean {
  return /^multipart\/form-data\s*;/i.test(call.headers['content-type'] ?? '');
}

/** Reads a whole body. Anything that is not a well-formed form answers 400. */
export function readMultipart(call: Call): MultipartForm {
  const boundary = boundaryOf(call.headers['content-type'] ?? '');
  const form = new MultipartForm();
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter has no line end before it if nothing precedes it.
  const opensAtStart = call.body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2));
  let at = opensAtStart ? delimiter.length - 2 : afterDelimiter(call.body, delimiter, 0);
  for (let parts = 0; !isClosing(call.body, at); parts += 1) {
    if (parts === MAXIMUM_PARTS) throw malformed('has too many parts');
    const start = call.body.indexOf(LINE_END, at);
    if (start < 0 || call.body.subarray(at, start).toString('latin1').trim() !== '') throw malformed('is cut off');
    const end = call.body.indexOf(delimiter, start);
    if (end < 0) throw malformed('is cut off');
    readPart(call.body.subarray(start + LINE_END.length, end), form);
    at = end + delimiter.length;
  }
  return form;
}

function afterDelimiter(body: Buffer, delimiter: Buffer, from: number): number {
  const at = body.indexOf(delimiter, from);
  if (at < 0) throw malformed('does not hold its boundary');
  return at + delimiter.length;
}

function isClosing(body: Buffer, at: number): boolean {
  return body[at] === 0x2d && body[at + 1] === 0x2d;
}

function readPart(part: Buffer, form: MultipartForm): void {
  const end = part.indexOf(HEADERS_END);
  if (end < 0 || end > MAXIMUM_HEADER_BYTES) throw malformed('has a part without headers');
  const headers = readHeaders(part.toString('utf8', 0, end));
  const disposition = headers.get('content-disposition') ?? '';
  const name = parameterOf(disposition, 'name');
  if (!/^form-data\s*(;|$)/i.test(disposition) || name === null) throw malformed('has a part without a name');
  const contentType = headers.get('content-type') ?? 'text/plain';
  form.add(name, parameterOf(disposition, 'filename'), contentType, part.subarray(end + HEADERS_END.length));
}

function readHeaders(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function boundaryOf(contentType: string): string {
  const boundary = parameterOf(contentType, 'boundary');
  if (!/^multipart\/form-data\s*;/i.test(contentType) || boundary === null || !/^[\x20-\x7e]{1,70}$/.test(boundary)) {
    throw new SandboxError(400, 'The body of this request must be multipart/form-data with a boundary');
  }
  return boundary;
}

/** A parameter of a header, quoted (with browsers' `%22` and the older `\"` for a quote) or bare. */
function parameterOf(header: string, name: string): string | null {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s"]+))`, 'i').exec(header);
  if (!match) return null;
  if (match[2] !== undefined) return match[2];
  return (match[1] ?? '').replaceAll('\\"', '"').replaceAll('%22', '"');
}

function malformed(reason: string): SandboxError {
  return new SandboxError(400, `The multipart body of this request ${reason}`);
}
