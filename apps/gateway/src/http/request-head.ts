import type { IncomingMessage } from 'node:http';
import { AppError } from '@libs/errors';
import type { BodyRule } from './streamed-body.decorator';

const MAX_HEADERS = 100;
/** Limit of all headers together. */
export const MAX_HEADER_KIB = 16;

/**
 * Returns what is wrong with the head of a request, or null. Runs before anything else is done with the request.
 *
 * Reads the raw header list: Node silently joins or drops repeated headers, and a proxy before us may have used another
 * one than we would (request smuggling, RFC 9112 §11.2).
 */
export function findHeadProblem(request: IncomingMessage): AppError | null {
  const { rawHeaders } = request;
  if (rawHeaders.length > MAX_HEADERS * 2) {
    return new AppError('headers_too_large', `The request has more than ${MAX_HEADERS} headers`);
  }
  const hosts = countOf('host', rawHeaders);
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) return bad('exactly one Host header is needed');
  if (countOf('content-type', rawHeaders) > 1) return bad('Content-Type is given more than once');
  return findCodingProblem(request);
}

/**
 * Node joins repeated headers and decodes chunks whatever other codings are named (RFC 9112 §6.1), also in HTTP/1.0,
 * which has no codings. A proxy may have found another end of such a body, so the connection is closed.
 */
function findCodingProblem({ headers, httpVersion }: IncomingMessage): AppError | null {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')) return null;
  return bad('Transfer-Encoding supports only chunked, once, in HTTP/1.1', { Connection: 'close' });
}

/** Returns whether the head announces that no body follows. */
export function announcesNoBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

function countOf(wanted: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === wanted.length && name.toLowerCase() === wanted) count += 1;
  }
  return count;
}

/**
 * Returns what is wrong with how a body is announced, or null. Bodies are JSON, or forms on routes that allow it, in
 * UTF-8 and without encoding. The API has no 415, so a wrong media type is an invalid request.
 */
export function findBodyHeadProblem(request: IncomingMessage, { kind, maxBytes }: BodyRule): AppError | null {
  const { headers } = request;
  if (headers['content-encoding'] !== undefined) return bad('Content-Encoding is not supported');
  if (kind === 'form' && !FORM_TYPE.test(headers['content-type'] ?? '')) {
    return bad('Content-Type must be application/x-www-form-urlencoded');
  }
  if (kind === 'upload' && isMultipart(headers['content-type'])) return tooLongFor(request, maxBytes);
  if (kind !== 'form' && !mayBeJson(headers['content-type'], kind)) return bad('Content-Type must be application/json');
  return tooLongFor(request, maxBytes);
}

/** The parser accepts only digits. A number too long for a double is too large in any case. */
function tooLongFor({ headers }: IncomingMessage, maxBytes: number): AppError | null {
  return Number(headers['content-length'] ?? 0) > maxBytes ? tooLarge(maxBytes) : null;
}

/** Returns whether a body claims to be a form with files (RFC 7578). Its boundary is checked when it is read. */
export function isMultipart(contentType: string | undefined): boolean {
  return contentType !== undefined && /^multipart\/form-data[ \t]*(?:;|$)/i.test(contentType);
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('payload_too_large', `The request body is larger than ${maxBytes} bytes`);
}

const FORM_TYPE =
  /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*$/i;
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*$/i;

/** Clients send no type for an empty body, and proxies may send it in chunks. */
function mayBeJson(contentType: string | undefined, kind: BodyRule['kind']): boolean {
  return isJson(contentType) || (kind === 'empty' && contentType === undefined);
}

function isJson(contentType: string | undefined): boolean {
  return contentType === 'application/json' || (contentType !== undefined && JSON_TYPE.test(contentType));
}

function bad(what: string, headers?: Readonly<Record<string, string>>): AppError {
  return new AppError('invalid_request', `The request cannot be read: ${what}`, headers && { headers });
}
