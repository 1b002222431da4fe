import type { IncomingMessage } from 'node:http';
import { pourBody } from '../http/read-body';
import type { FormParser } from './form-parser';

const TIMES = { idleMs: 60_000, totalMs: 300_000 };

/**
 * Feeds the parser until the form is over.
 *
 * @throws AppError request_timeout | invalid_request, and whatever the parser's listener throws
 */
export async function readForm(request: IncomingMessage, parser: FormParser): Promise<void> {
  await pourBody(request, TIMES, (piece) => parser.write(piece));
  parser.end();
}
