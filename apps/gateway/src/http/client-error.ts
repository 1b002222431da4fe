import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '@libs/errors';
import { errorResponse } from '@libs/platform';
import { MAX_HEADER_KIB } from './request-head';

/** A socket of Node's HTTP server, which knows the response that is being written to it. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/** How long the peer may take to read the answer before the connection is closed. */
const LINGER_MS = 2_000;

const SEND_LARGER_CHUNKS =
  'The request body comes in many chunks of a few bytes; send larger chunks, or a Content-Length';

const answered = new WeakSet<Socket>();

/**
 * Answers a request that Node's HTTP parser refuses with the standard error body and closes the connection, because it
 * is unknown where the next request begins. Discards what the peer still sends: a connection that is closed with unread
 * bytes is reset, and the answer is lost.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (answered.has(socket)) return;
  const begun = (socket as HttpSocket)._httpMessage?.headersSent === true;
  if (begun || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  answered.add(socket);
  socket.end(rawResponse(meaningOf(error)));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Returns the error as the bytes of a whole HTTP/1.1 response, for sockets without a response object. */
export function rawResponse(error: AppError): string {
  const { status, headers, body } = errorResponse(error);
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`;
}

function meaningOf({ code, message }: NodeJS.ErrnoException): AppError {
  const internal = `${code ?? ''} ${message}`;
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers_too_large', `The request headers are larger than ${MAX_HEADER_KIB} KiB`, {
        internal,
      });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('request_timeout', 'The request took too long to arrive', { internal });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError('payload_too_large', 'The chunk extensions are too large', { internal });
    case 'TINY_CHUNKS':
      return new AppError('invalid_request', SEND_LARGER_CHUNKS, { internal });
    default:
      return new AppError('invalid_request', 'The request is not valid HTTP', { internal });
  }
}
