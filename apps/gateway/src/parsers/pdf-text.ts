import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';

export interface PdfSettings {
  readonly maxPages: number;
  readonly maxCharacters: number;
  /** After this long no further page is begun. */
  readonly pagesMs: number;
}

export interface PdfText {
  /** In the whole file, as it says. */
  readonly pages: number;
  readonly title: string | null;
  readonly text: string;
  /** Whether some of the file was not read, or other readers may find more pages in it. */
  readonly isCut: boolean;
}

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;
/** Where a page stands in the file; null for one inside of another object. */
type PageRef = Awaited<ReturnType<Document['getPage']>>['ref'];

/** The part of pdf.js that has a file's tree of pages. It is not exported. */
interface Catalog {
  /** Walks the whole tree, whatever the file says of it. Ends at a part that is broken, with an error in its place. */
  getAllPageDicts(): Promise<ReadonlyMap<number, readonly [{ has(name: string): boolean } | Error, PageRef]>>;
}

interface OpenPdf {
  readonly document: Document;
  readonly catalog: Catalog;
}

/** The property that every catalogue is given when it is made. */
const OF_CATALOG = 'toplevelPagesDict';

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

async function readText(bytes: Uint8Array, settings: PdfSettings): Promise<PdfText> {
  const opened = await open(bytes);
  const { document } = opened;
  const { texts, isCut } = await readPages(opened, settings);
  const { info } = await document.getMetadata();
  const title: unknown = 'Title' in info ? info.Title : null;
  const read: PdfText = {
    pages: document.numPages,
    title: typeof title === 'string' && title !== '' ? title.slice(0, settings.maxCharacters) : null,
    text: texts.join('\n\n').slice(0, settings.maxCharacters),
    isCut,
  };
  await document.loadingTask.destroy();
  return read;
}

/**
 * Opens a file, with its catalogue: of the number of pages pdf.js believes the file, but other readers count them. The
 * catalogue can be had only at the moment when pdf.js defines a property of it.
 */
async function open(bytes: Uint8Array): Promise<OpenPdf> {
  let catalog: unknown = null;
  const { defineProperty } = Object;
  Object.defineProperty = (object, name, descriptor) => {
    if (name === OF_CATALOG) catalog = object;
    return defineProperty(object, name, descriptor);
  };
  try {
    const document = await getDocumentProxy(bytes);
    return { document, catalog: catalog as Catalog };
  } finally {
    Object.defineProperty = defineProperty;
  }
}

async function readPages(
  { document, catalog }: OpenPdf,
  { maxPages, maxCharacters, pagesMs }: PdfSettings,
): Promise<{ readonly texts: readonly string[]; readonly isCut: boolean }> {
  const endMs = performance.now() + pagesMs;
  const texts: string[] = [];
  const refs: PageRef[] = [];
  let length = 0;
  const last = Math.min(document.numPages, maxPages);
  for (let number = 1; number <= last && length < maxCharacters && performance.now() < endMs; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    texts.push(text);
    refs.push(page.ref);
    length += text.length;
    page.cleanup();
  }
  const isRead = refs.length === document.numPages && length <= maxCharacters;
  // What is broken beyond the pages that were read does not make them unreadable.
  return { texts, isCut: !isRead || !(await areAllPages(refs, catalog).catch(() => false)) };
}

/** Returns whether these are the pages of the tree, and all of them; false where readers may differ about it. */
async function areAllPages(refs: readonly PageRef[], catalog: Catalog): Promise<boolean> {
  const found = [...(await catalog.getAllPageDicts()).values()];
  if (found.length !== refs.length) return false;
  return found.every(([page, ref], index) => {
    const read = refs[index] ?? null;
    if (page instanceof Error || page.has('Kids') || ref === null || read === null) return false;
    return ref.num === read.num && ref.gen === read.gen;
  });
}
