import { AppError } from '@libs/errors';
import type { PlaceWork } from './parser-places';
import type { ParserOutcome, ParserPool } from './parser-pool';
import type { PdfText } from './pdf-text';

export type { PdfText } from './pdf-text';

export interface PdfLimits {
  readonly timeoutMs: number;
  /** After this time no further page is begun, so a long file is read only in part. */
  readonly pagesMs: number;
  readonly maxPages: number;
  readonly maxCharacters: number;
}

const DEFAULT_LIMITS: PdfLimits = { timeoutMs: 3_000, pagesMs: 1_500, maxPages: 200, maxCharacters: 1_000_000 };

/** Reads the text of PDF files. */
export class PdfReader {
  readonly #limits: PdfLimits;

  constructor(
    private readonly parsers: ParserPool,
    limits: Partial<PdfLimits> = {},
  ) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /**
   * @throws AppError invalid_request for an unreadable PDF, provider_overloaded if too many tasks wait; the signal's
   * reason when it is aborted
   */
  async read(bytes: Uint8Array, work: PlaceWork): Promise<PdfText> {
    const { timeoutMs, ...settings } = this.#limits;
    return textOf(await this.parsers.run({ parser: 'pdf-text', settings, payload: bytes, timeoutMs }, work));
  }
}

function textOf(outcome: ParserOutcome): PdfText {
  switch (outcome.state) {
    case 'done':
      if (outcome.value === null) throw unreadable('it is damaged, or protected by a password');
      if (!isPdfText(outcome.value)) throw unreadable('it breaks its reader');
      return outcome.value;
    case 'refused':
      throw new AppError('provider_overloaded', 'Too many PDF files are being read', { retryAfterSeconds: 1 });
    case 'timeout':
      throw unreadable('it takes too long to read');
    case 'broken':
      throw unreadable('it takes too much memory, or breaks its reader', outcome.cause);
  }
}

function isPdfText(value: unknown): value is PdfText {
  if (typeof value !== 'object' || value === null) return false;
  const { pages, title, text, actualText, isCut } = value as Readonly<Record<keyof PdfText, unknown>>;
  return (
    Number.isSafeInteger(pages) &&
    (title === null || typeof title === 'string') &&
    typeof text === 'string' &&
    (actualText === null || typeof actualText === 'string') &&
    typeof isCut === 'boolean'
  );
}

function unreadable(why: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `The PDF file cannot be read: ${why}`, { cause });
}
