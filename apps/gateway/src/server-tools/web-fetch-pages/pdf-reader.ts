import { join } from 'node:path';
import { AppError } from '@libs/errors';
import { BoundedThreads, type ThreadLimits, type ThreadOutcome } from '../bounded-threads';
import type { PdfTask, PdfText } from './pdf-text.worker';

export type { PdfText } from './pdf-text.worker';

export interface PdfLimits extends ThreadLimits {
  readonly maxPages: number;
  readonly maxCharacters: number;
}

const DEFAULT_LIMITS: PdfLimits = {
  maxThreads: 2,
  maxWaiting: 32,
  timeoutMs: 20_000,
  maxPages: 200,
  maxCharacters: 1_000_000,
};

/** Reads the text of PDF files, each in a thread of its own. */
export class PdfReader {
  readonly #limits: PdfLimits;
  readonly #threads: BoundedThreads<PdfTask, PdfText | null>;

  constructor(limits: Partial<PdfLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#threads = new BoundedThreads(join(__dirname, 'pdf-text.worker'), this.#limits);
  }

  /**
   * @param bytes are handed over: the caller can no longer read them
   * @throws AppError invalid_request for what is no readable PDF, provider_overloaded when too many wait; the
   * signal's reason when it is aborted
   */
  async read(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<PdfText> {
    const { maxPages, maxCharacters } = this.#limits;
    // Only a whole buffer can change hands, and a small one is a part of one that others use too.
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
    const outcome = await this.#threads.run({ bytes: own, maxPages, maxCharacters }, signal, [own.buffer]);
    return textOf(outcome);
  }
}

function textOf(outcome: ThreadOutcome<PdfText | null>): PdfText {
  switch (outcome.state) {
    case 'done':
      if (outcome.value === null) throw unreadable('it is damaged, or protected by a password');
      return outcome.value;
    case 'refused':
      throw new AppError('provider_overloaded', 'Too many PDF files are being read', { retryAfterSeconds: 1 });
    case 'timeout':
      throw unreadable('it takes too long to read');
    case 'broken':
      throw unreadable('it takes too much memory, or breaks its reader', outcome.cause);
  }
}

function unreadable(why: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `The PDF file cannot be read: ${why}`, { cause });
}
