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
  /** What other readers give as the text of some parts; null where nothing bounds that. */
  readonly actualText: string | null;
  /** Whether some of the file was not read, or other readers may find more pages in it. */
  readonly isCut: boolean;
}

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;
/** Where a page is in the file; null for one inside of another object. */
type PageRef = Awaited<ReturnType<Document['getPage']>>['ref'];

/** The part of pdf.js that has a file's tree of pages. It is not exported. */
interface Catalog {
  /** Walks the whole tree, whatever the file says of it. Ends at a part that is broken, with an error in its place. */
  getAllPageDicts(): Promise<ReadonlyMap<number, readonly [{ has(name: string): boolean } | Error, PageRef]>>;
}

interface OpenPdf {
  readonly document: Document;
  readonly catalog: Catalog;
  readonly actualText: ActualText;
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
  const opened = await open(bytes, settings.maxCharacters);
  const { document } = opened;
  const { texts, isCut } = await readPages(opened, settings);
  const { info } = await document.getMetadata();
  const title: unknown = 'Title' in info ? info.Title : null;
  const read: PdfText = {
    pages: document.numPages,
    title: typeof title === 'string' && title !== '' ? title.slice(0, settings.maxCharacters) : null,
    text: texts.join('\n\n').slice(0, settings.maxCharacters),
    actualText: opened.actualText.text,
    isCut,
  };
  await document.loadingTask.destroy();
  return read;
}

/**
 * Opens a file, with its catalogue: of the number of pages pdf.js believes the file, but other readers count them. The
 * catalogue can be had only at the moment when pdf.js defines a property of it.
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

/** The part that is used of a dictionary of pdf.js, whose class is not exported. */
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
 */
class ActualText {
  readonly #texts: string[] = [];
  #length = 0;
  /** Dictionaries of resources that have properties for marked content. */
  readonly #owners = new Set<PdfDict>();

  /** @param prototype of all dictionaries: each is filled by its `set` when the file is read */
  constructor(prototype: PdfDict, mostCharacters: number) {
    const { set } = prototype;
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

  /** Of what was read so far; null where content may be marked with a text of the resources, each time anew. */
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

/** A string of a PDF has a byte in each character; some begin with the mark of UTF-16. */
function textOf(bytes: string): string {
  if (!bytes.startsWith(UTF_16)) return bytes;
  return Buffer.from(bytes.slice(UTF_16.length), 'latin1')
    .subarray(0, (bytes.length - 2) & ~1)
    .swap16()
    .toString('utf16le');
}
