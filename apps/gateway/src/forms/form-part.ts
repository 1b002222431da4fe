import { AppError } from '@libs/errors';

const MOST_NAME_BYTES = 100;
const MOST_FILENAME_BYTES = 1_024;
const MOST_HEADERS = 16;
const PLAIN_ENCODINGS = ['binary', '8bit', '7bit'];

/** The head of a part. */
export interface FormPart {
  readonly name: string;
  /** Null for a field that is not a file. */
  readonly filename: string | null;
  /** In lower case, without parameters. */
  readonly mediaType: string | null;
}

/** Reads the head of a part, without the empty line after it. @throws AppError invalid_request */
export function readPart(head: string): FormPart {
  const headers = readHeaders(head);
  const disposition = headers.get('content-disposition') ?? '';
  if (!/^form-data[ \t]*;/i.test(disposition)) throw malformed('a part is no form-data');
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (!PLAIN_ENCODINGS.includes(encoding)) throw malformed('a part is encoded');
  const mediaType = mediaTypeOf(headers.get('content-type'));
  if (mediaType?.startsWith('multipart/') === true) throw malformed('a part has parts');
  const parameters = parametersOf(disposition);
  return { name: nameOf(parameters), filename: filenameOf(parameters), mediaType };
}

function mediaTypeOf(contentType: string | undefined): string | null {
  return contentType === undefined ? null : contentType.split(';', 1)[0]!.trim().toLowerCase();
}

function nameOf(parameters: ReadonlyMap<string, string>): string {
  const name = parameters.get('name') ?? '';
  const isName = name !== '' && Buffer.byteLength(name) <= MOST_NAME_BYTES;
  if (!isName) throw malformed('a part has no name, or too long a one');
  return name;
}

function filenameOf(parameters: ReadonlyMap<string, string>): string | null {
  const filename = parameters.get('filename') ?? extendedFilename(parameters.get('filename*'));
  const isName = filename === null || (Buffer.byteLength(filename) <= MOST_FILENAME_BYTES && !/\p{Cc}/u.test(filename));
  if (!isName) throw malformed('the name of a file is not one');
  return filename;
}

function readHeaders(head: string): ReadonlyMap<string, string> {
  const lines = head.split('\r\n');
  if (lines.length > MOST_HEADERS) throw malformed('a part has too many headers');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([^\r\n\0]*)$/.exec(line);
    const name = match?.[1]!.toLowerCase();
    if (match === null || headers.has(name!)) throw malformed('the head of a part cannot be read');
    headers.set(name!, match[2]!);
  }
  return headers;
}

const PARAMETER = /;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))[ \t]*/y;

/** Yields the parameters of a disposition. Quotes in values are `\"`, or `%22` as browsers write them. */
function parametersOf(disposition: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = disposition.indexOf(';');
  while (PARAMETER.lastIndex < disposition.length) {
    const match = PARAMETER.exec(disposition);
    const name = match?.[1]!.toLowerCase();
    if (match === null || parameters.has(name!)) throw malformed('the head of a part cannot be read');
    parameters.set(name!, match[3] ?? match[2]!.replaceAll('\\"', '"').replaceAll('%22', '"'));
  }
  return parameters;
}

/**
 * Returns the filename in the form of RFC 8187, which some clients use for names outside ASCII. Only its extension is
 * used.
 */
function extendedFilename(value: string | undefined): string | null {
  if (value === undefined) return null;
  const encoded = /^utf-8'[^']*'(.{1,3072})$/i.exec(value)?.[1];
  try {
    if (encoded === undefined) throw new URIError(value);
    return decodeURIComponent(encoded);
  } catch {
    throw malformed('the name of a file is not one');
  }
}

export function malformed(what: string): AppError {
  return new AppError('invalid_request', `The form cannot be read: ${what}`);
}
