import { hash } from 'node:crypto';
import { estimatePrompt, estimateTextTokens, pdfTokens, type PdfPlace, type PromptEstimate } from '@libs/inference';
import { countFetched } from '../http/fetched-bytes';
import type { OutsideWork } from './outside-work';
import type { PdfReader } from './pdf-reader';

/** After this time no further file of a request is begun. */
const MOST_MS = 4_000;
const BACKSLASH = 0x5c;

/** Tokens of the PDF files of one call, by their bytes, so that each file is read only once in all turns. */
export class MeasuredPdfs {
  readonly #tokens = new Map<string, number | null>();

  /**
   * Returns the estimate of `body`'s prompt with the known tokens of its PDF files. `pdfs` are the files that are not
   * measured.
   */
  settle(prompt: PromptEstimate, body: Buffer): PromptEstimate {
    let { tokens, likelyTokens, unlikelyMediaTokens } = prompt;
    const pdfs: PdfPlace[] = [];
    for (const place of prompt.pdfs) {
      const measured = this.#tokens.get(keyOf(body, place));
      if (measured === undefined) pdfs.push(place);
      if (typeof measured !== 'number') continue;
      tokens += measured - place.tokens;
      likelyTokens += measured - place.usual;
      unlikelyMediaTokens -= place.tokens - place.usual;
    }
    return { ...prompt, tokens, likelyTokens, unlikelyMediaTokens, pdfs };
  }

  has(body: Buffer, place: PdfPlace): boolean {
    return this.#tokens.has(keyOf(body, place));
  }

  /** @param tokens null for a file that cannot be measured */
  set(body: Buffer, place: PdfPlace, tokens: number | null): void {
    this.#tokens.set(keyOf(body, place), tokens);
  }
}

/**
 * Returns the same key in every body with the file: backslashes of escapes, which other writers omit, are not part of
 * it.
 */
function keyOf(body: Buffer, { start, end }: PdfPlace): string {
  const written = body.subarray(start, end);
  return hash('sha256', written.includes(BACKSLASH) ? textOf(written) : written);
}

/** Estimates the prompt of a body with the known tokens of its files. */
export function measuredPrompt(body: Buffer, measured?: MeasuredPdfs): PromptEstimate {
  const prompt = estimatePrompt(body);
  return measured?.settle(prompt, body) ?? prompt;
}

/** Measures the PDF files of requests in parser child processes. */
export class PdfMeter {
  constructor(
    private readonly pdf: Pick<PdfReader, 'read'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Measures the files of a prompt that are not measured yet, one after another. A file that cannot be read completely,
   * or for which no child is free, keeps its estimate. Both texts of a file count, because readers differ in which they
   * use.
   * @throws the signal's reason when it is aborted
   */
  async measure(measured: MeasuredPdfs, prompt: PromptEstimate, body: Buffer, work: OutsideWork): Promise<void> {
    const endMs = this.nowMs() + MOST_MS;
    for (const place of prompt.pdfs) {
      if (this.nowMs() >= endMs) return;
      if (!measured.has(body, place)) measured.set(body, place, await this.#tokensOf(body, place, work));
    }
  }

  async #tokensOf(body: Buffer, { start, end }: PdfPlace, work: OutsideWork): Promise<number | null> {
    try {
      return await countFetched(
        work.memory,
        async (reserve) => {
          await reserve(end - start);
          const { text, actualText, pages, isCut } = await this.pdf.read(
            Buffer.from(textOf(body.subarray(start, end)), 'base64'),
            work,
          );
          if (isCut || actualText === null) return null;
          return pdfTokens(estimateTextTokens(text) + estimateTextTokens(actualText), pages);
        },
        () => 0,
      );
    } catch {
      work.signal.throwIfAborted();
      return null;
    }
  }
}

/** Returns the base64 inside a part of a JSON string. */
function textOf(written: Buffer): string {
  const text = written.toString('latin1');
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
