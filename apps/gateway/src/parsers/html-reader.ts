import { AppError } from '@libs/errors';
import type { HtmlSettings, HtmlText } from './html-text';
import type { PlaceWork } from './parser-places';
import type { ParserPool } from './parser-pool';

const TIMEOUT_MS = 2_000;

/** Reads the text of pages of the web. */
export class HtmlReader {
  constructor(private readonly parsers: ParserPool) {}

  /**
   * @throws AppError invalid_request for a page that needs too much time or memory, provider_overloaded if too many
   * tasks wait; the signal's reason when it is aborted
   */
  async read(html: string, base: string, work: PlaceWork): Promise<HtmlText> {
    const settings: HtmlSettings = { base };
    const task = { parser: 'html-text', settings, payload: Buffer.from(html), timeoutMs: TIMEOUT_MS } as const;
    const outcome = await this.parsers.run(task, work);
    if (outcome.state === 'done' && isHtmlText(outcome.value)) return outcome.value;
    if (outcome.state === 'refused') {
      throw new AppError('provider_overloaded', 'Too many pages are being read', { retryAfterSeconds: 1 });
    }
    const why = outcome.state === 'timeout' ? 'it takes too long to read' : 'it takes too much memory to read';
    throw new AppError('invalid_request', `The page cannot be read: ${why}`);
  }
}

function isHtmlText(value: unknown): value is HtmlText {
  if (typeof value !== 'object' || value === null) return false;
  const { title, text } = value as Readonly<Record<keyof HtmlText, unknown>>;
  return (title === null || typeof title === 'string') && typeof text === 'string';
}
