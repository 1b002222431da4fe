import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';

export interface PdfSettings {
  readonly maxPages: number;
  readonly maxCharacters: number;
  /** After this long no further page is begun. */
  readonly pagesMs: number;
}

export interface PdfText {
  /** In the whole file. */
  readonly pages: number;
  readonly title: string | null;
  readonly text: string;
  /** Whether some of the file was not read. */
  readonly isCut: boolean;
}

/** Loads the reader, which is larger than all the rest. */
export const loaded: Promise<unknown> = getResolvedPDFJS();

/** Returns the text of a file, or null for one that cannot be read. Runs in a child (`parser-child.ts`). */
export async function parse(payload: Uint8Array, settings: PdfSettings): Promise<PdfText | null> {
  try {
    return await readText(payload, settings);
  } catch {
    // The words of the parser are about the inside of the file and of no use to the caller.
    return null;
  }
}

async function readText(bytes: Uint8Array, { maxPages, maxCharacters, pagesMs }: PdfSettings): Promise<PdfText> {
  const endMs = performance.now() + pagesMs;
  const document = await getDocumentProxy(bytes);
  const pages: string[] = [];
  let length = 0;
  const last = Math.min(document.numPages, maxPages);
  for (let number = 1; number <= last && length < maxCharacters && performance.now() < endMs; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    pages.push(text);
    length += text.length;
    page.cleanup();
  }
  const { info } = await document.getMetadata();
  const title: unknown = 'Title' in info ? info.Title : null;
  const read: PdfText = {
    pages: document.numPages,
    title: typeof title === 'string' && title !== '' ? title.slice(0, maxCharacters) : null,
    text: pages.join('\n\n').slice(0, maxCharacters),
    isCut: pages.length < document.numPages || length > maxCharacters,
  };
  await document.loadingTask.destroy();
  return read;
}
