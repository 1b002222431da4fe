import { AppError } from '@libs/errors';
import type { FormParser } from './form-parser';

const TOTAL_MS = 300_000;

/**
 * Feeds the parser until the form is over.
 *
 * @throws AppError request_timeout | invalid_request, and whatever the parser's listener throws
 */
export async function readForm(body: AsyncIterable<Buffer>, parser: FormParser): Promise<void> {
  const startedMs = performance.now();
  for await (const piece of body) {
    if (performance.now() - startedMs > TOTAL_MS) {
      throw new AppError('request_timeout', 'The request body took too long to arrive');
    }
    parser.write(piece);
  }
  parser.end();
}
