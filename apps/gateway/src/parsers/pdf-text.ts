import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';

export interface PdfSettings {
  readonly maxPages: number;
  readonly maxCharacters: number;
  /** After this time no further page is begun. */
  readonly pagesMs: number;
}

export interface PdfText {
  /** Number of pages that the file states. */
  readonly pages: number;
  readonly title: string | null;
  readonly text: string;
  /** Text that other readers use instead of some parts of the pages; null if its length is not limited. */
  readonly actualText: string | null;
  /** Whether some of the file was not read, or other readers may find more pages in it. */
  readonly isCut: boolean;
}

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;
/** Position of a page in the file; null for a page inside another object. */
type PageRef = Awaited<ReturnType<Document['getPage']>>['ref'];

/** The part of pdf.js that holds a file's tree of pages. pdf.js does not export it. */
interface Catalog {
  /**
   * Walks the whole tree of pages, ignoring the number that the file states. Ends at a broken part, with an error in
   * its place.
   */
  getAllPageDicts(): Promise<ReadonlyMap<number, readonly [{ has(name: string): boolean } | Error, PageRef]>>;
}

interface OpenPdf {
  readonly document: Document;
  readonly catalog: Catalog;
  readonly actualText: ActualText;
}

/** The property that pdf.js defines on every new catalogue. */
const OF_CATALOG = 'toplevelPagesDict';

/** Loads pdf.js, which is larger than all other code. */
export const loaded: Promise<unknown> = getResolvedPDFJS();

/** Returns the text of a file, or null for one that cannot be read. Runs in a child (`parser-child.ts`). */
export async function parse(payload: Uint8Array, settings: PdfSettings): Promise<PdfText | null> {
  try {
    return await readText(payload, settings);
  } catch {
    // The parser's message is about the inside of the file and does not help the caller.
    return null;
  }
}

async function readText(bytes: Uint8Array, settings: PdfSettings): Promise<PdfText> {
  const opened = await open(bytes, settings.maxCharacters);
  const { document, actualText } = opened;
  try {
    const { texts, isCut } = await readPages(opened, settings);
    const { info } = await document.getMetadata();
    const title: unknown = 'Title' in info ? info.Title : null;
    return {
      pages: document.numPages,
      title: typeof title === 'string' && title !== '' ? title.slice(0, settings.maxCharacters) : null,
      text: texts.join('\n\n').slice(0, settings.maxCharacters),
      actualText: actualText.text,
      isCut,
    };
  } finally {
    actualText.stop();
    await document.loadingTask.destroy();
  }
}

/**
 * Opens a file with its catalogue. pdf.js trusts the page count that the file states, but other readers count the
 * pages. The catalogue can be accessed only at the moment when pdf.js defines a property of it.
 */
async function open(bytes: Uint8Array, mostCharacters: number): Promise<OpenPdf> {
  let catalog: unknown = null;
  let actualText: ActualText | null = null;
  const { defineProperty } = Object;
  Object.defineProperty = (object, name, descriptor) => {
    if (name === OF_CATALOG) {
      catalog = object;
      actualText ??= new ActualText(Object.getPrototypeOf(descriptor.value) as PdfDict, mostCharacters);
    }
    return defineProperty(object, name, descriptor);
  };
  try {
    const document = await getDocumentProxy(bytes);
    if (actualText === null) throw new Error('pdf.js has no catalogue of this file');
    return { document, catalog: catalog as Catalog, actualText };
  } catch (error) {
    (actualText as ActualText | null)?.stop();
    throw error;
  } finally {
    Object.defineProperty = defineProperty;
  }
}

async function readPages(
  { document, catalog }: Pick<OpenPdf, 'document' | 'catalog'>,
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
  // Defects after the pages that were read do not make these unreadable.
  return { texts, isCut: !isRead || !(await areAllPages(refs, catalog).catch(() => false)) };
}

/** Returns whether these are all pages of the tree and no others; false if readers may differ about it. */
async function areAllPages(refs: readonly PageRef[], catalog: Catalog): Promise<boolean> {
  const found = [...(await catalog.getAllPageDicts()).values()];
  if (found.length !== refs.length) return false;
  return found.every(([page, ref], index) => {
    const read = refs[index] ?? null;
    if (page instanceof Error || page.has('Kids') || ref === null || read === null) return false;
    return ref.num === read.num && ref.gen === read.gen;
  });
}

/** The used part of a pdf.js dictionary, whose class is not exported. */
interface PdfDict {
  get(name: string): unknown;
  getKeys(): Iterable<string>;
  set: (this: PdfDict, name: string, value: unknown) => void;
}

const ACTUAL_TEXT = 'ActualText';
const PROPERTIES = 'Properties';
const UTF_16 = '\u00fe\u00ff';

/**
 * The text that marked content of a page states for what it shows (`ActualText`, ISO 32000-1 §14.9.4). pdf.js passes over
 * it, and other readers give it in place of the letters on the page, as often as the page marks content with it.
 *
 * Listens to every dictionary of pdf.js until it is stopped. It must be stopped: otherwise this file and all later ones
 * stay in the memory of the child.
 */
class ActualText {
  readonly #texts: string[] = [];
  #length = 0;
  /** Resource dictionaries with properties for marked content. */
  readonly #owners = new Set<PdfDict>();

  /** Stops listening. */
  readonly stop: () => void;

  /** @param prototype of all dictionaries: each is filled by its `set` when the file is read */
  constructor(prototype: PdfDict, mostCharacters: number) {
    const { set } = prototype;
    this.stop = () => {
      prototype.set = set;
    };
    const take = (dict: PdfDict, name: string, value: unknown): void => {
      if (name === PROPERTIES) this.#owners.add(dict);
      if (name !== ACTUAL_TEXT || typeof value !== 'string' || this.#length > mostCharacters) return;
      const text = textOf(value);
      this.#texts.push(text);
      this.#length += text.length;
    };
    prototype.set = function (this: PdfDict, name, value) {
      take(this, name, value);
      set.call(this, name, value);
    };
  }

  /** The text found so far; null if content may be marked repeatedly with a text from the resources. */
  get text(): string | null {
    return [...this.#owners].some((owner) => hasActualText(owner.get(PROPERTIES))) ? null : this.#texts.join('\n');
  }
}

function hasActualText(properties: unknown): boolean {
  if (!isDict(properties)) return false;
  return [...properties.getKeys()].some((name) => {
    const property = properties.get(name);
    return isDict(property) && property.get(ACTUAL_TEXT) !== undefined;
  });
}

function isDict(value: unknown): value is PdfDict {
  return typeof value === 'object' && value !== null && 'getKeys' in value;
}

/** Decodes a PDF string, which has one byte per character; some begin with the UTF-16 mark. */
function textOf(bytes: string): string {
  if (!bytes.startsWith(UTF_16)) return bytes;
  return Buffer.from(bytes.slice(UTF_16.length), 'latin1')
    .subarray(0, (bytes.length - 2) & ~1)
    .swap16()
    .toString('utf16le');
}
