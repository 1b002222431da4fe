import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';

/** Reads one file: how long that takes is up to whoever made the file, so it has a thread of its own. */
export interface PdfTask {
  readonly bytes: Uint8Array;
  readonly maxPages: number;
  readonly maxCharacters: number;
}

export interface PdfText {
  /** In the whole file. */
  readonly pages: number;
  readonly title: string | null;
  readonly text: string;
  /** Whether some of the file was not read. */
  readonly isCut: boolean;
}

async function readText({ bytes, maxPages, maxCharacters }: PdfTask): Promise<PdfText> {
  const document = await getDocumentProxy(bytes);
  const pages: string[] = [];
  let length = 0;
  const last = Math.min(document.numPages, maxPages);
  for (let number = 1; number <= last && length < maxCharacters; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    pages.push(text);
    length += text.length;
    page.cleanup();
  }
  const { info } = await document.getMetadata();
  const title: unknown = 'Title' in info ? info.Title : null;
  return {
    pages: document.numPages,
    title: typeof title === 'string' && title !== '' ? title : null,
    text: pages.join('\n\n').slice(0, maxCharacters),
    isCut: pages.length < document.numPages || length > maxCharacters,
  };
}

readText(workerData as PdfTask).then(
  (text) => parentPort?.postMessage(text),
  // The words of the parser are about the file and of no use to its reader.
  () => parentPort?.postMessage(null),
);
