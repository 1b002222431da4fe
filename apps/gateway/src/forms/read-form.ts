import type { IncomingMessage } from 'node:http';
import { pourBody } from '../http/read-body';
import { tooLarge } from '../http/request-head';
import type { FormParser } from './form-parser';

const TIMES = { idleMs: 60_000, totalMs: 300_000 };

/**
 * Feeds the parser until the form ends. Bytes that the parser skips count too, because a form without a Content-Length
 * may continue forever after its last boundary.
 * @throws AppError payload_too_large | request_timeout | invalid_request, and any error of the parser's listener
 */
export async function readForm(request: IncomingMessage, parser: FormParser, maxBytes: number): Promise<void> {
  let bytes = 0;
  await pourBody(request, TIMES, (piece) => {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    parser.write(piece);
  });
  parser.end();
}
