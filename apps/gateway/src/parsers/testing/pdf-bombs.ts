import { deflateSync } from 'node:zlib';
import { deflatedRun, lzwRun, twiceDeflatedRun } from './deflate-bomb';

/** A small PDF file that takes much memory or time, or that breaks naive parsers. */
export interface PdfBomb {
  readonly name: string;
  readonly bytes: Buffer;
}

type Part = string | { readonly entries: string; readonly data: Buffer };

/** Returns a PDF file of these objects, numbered from 1; the first is its catalogue. */
export function pdfOf(objects: readonly Part[]): Buffer {
  const { body, offsets } = bodyOf(objects.entries());
  const rows = offsets.map(([, offset]) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const table = `xref\n0 ${rows.length + 1}\n0000000000 65535 f \n${rows.join('')}`;
  const trailer = `trailer<</Size ${rows.length + 1}/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF\n`;
  return Buffer.concat([body, Buffer.from(table + trailer)]);
}

/** Returns a file's head and objects, and where each object begins. */
function bodyOf(objects: Iterable<[number, Part]>): { readonly body: Buffer; readonly offsets: [number, number][] } {
  const pieces: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: [number, number][] = [];
  let length = pieces[0]!.length;
  for (const [index, part] of objects) {
    const text = typeof part === 'string' ? Buffer.from(part) : streamOf(part.entries, part.data);
    const object = Buffer.concat([Buffer.from(`${index + 1} 0 obj`), text, Buffer.from('\nendobj\n')]);
    offsets.push([index + 1, length]);
    pieces.push(object);
    length += object.length;
  }
  return { body: Buffer.concat(pieces), offsets };
}

function streamOf(entries: string, data: Buffer): Buffer {
  const head = `<<${entries}/Length ${data.length}>>stream\n`;
  return Buffer.concat([Buffer.from(head), data, Buffer.from('\nendstream')]);
}

const CATALOGUE = '<</Type/Catalog/Pages 2 0 R>>';
const ONE_PAGE = '<</Type/Pages/Kids[3 0 R]/Count 1>>';
const pageWith = (resources = ''): string =>
  `<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<${resources}>>>>`;

/** Returns one page with this content stream, and with more objects from number 5 on. */
function pageOf(content: Part, more: readonly Part[] = [], resources = ''): Buffer {
  return pdfOf([CATALOGUE, ONE_PAGE, pageWith(resources), content, ...more]);
}

const plain = (text: string): Part => ({ entries: '', data: Buffer.from(text) });
const filtered = (filters: string, data: Buffer): Part => ({ entries: `/Filter[${filters}]`, data });

/** Returns a font with a text in it, and its CMap or font file as object 6. */
function fontPage(font: string, file: Part): Buffer {
  const descriptor = '<</Type/FontDescriptor/FontName/F/Flags 4/FontBBox[0 0 9 9]/FontFile2 6 0 R>>';
  return pageOf(plain('BT /F1 12 Tf (text) Tj ET'), [font, file, descriptor], '/Font<</F1 5 0 R>>');
}

const TRUE_TYPE = '<</Type/Font/Subtype/TrueType/BaseFont/F/FontDescriptor 7 0 R/FirstChar 0/LastChar 0/Widths[9]>>';
const UNICODE_FONT = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>';

/** Returns ranges that together map some ten million codes. */
function hugeCMap(): string {
  const ranges = Array.from({ length: 64 }, (_, index) => {
    const start = (index * 0x40000).toString(16).padStart(8, '0');
    const end = (index * 0x40000 + 0x3ffff).toString(16).padStart(8, '0');
    return `<${start}> <${end}> <0041>`;
  });
  const space = '1 begincodespacerange <00000000> <ffffffff> endcodespacerange';
  return `/CIDInit /ProcSet findresource begin begincmap ${space} 64 beginbfrange ${ranges.join('\n')} endbfrange endcmap`;
}

/** Returns forms that each draw the next one ten times: 10^12 drawings of a text. */
function laughingForms(): Buffer {
  const depth = 12;
  const forms = Array.from({ length: depth }, (_, index): Part => {
    const next = `/Resources<</XObject<</X ${6 + index} 0 R>>/Font<</F1 ${5 + depth} 0 R>>>>`;
    const content = index === depth - 1 ? 'BT /F1 9 Tf (ha) Tj ET' : '/X Do '.repeat(10);
    return { entries: `/Type/XObject/Subtype/Form/BBox[0 0 9 9]${next}`, data: Buffer.from(content) };
  });
  const font = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>';
  return pageOf(plain('/X Do'), [...forms, font], '/XObject<</X 5 0 R>>');
}

/** Returns page tree nodes that have one child each. */
function deepTree(depth: number): Buffer {
  const nodes = Array.from({ length: depth }, (_, index) => `<</Type/Pages/Kids[${index + 3} 0 R]/Count 1>>`);
  return pdfOf([CATALOGUE, ...nodes, '<</Type/Page/MediaBox[0 0 9 9]>>']);
}

/** Returns a file whose page tree is in a stream of objects. */
function objectStream(data: Buffer): Buffer {
  const stream = { entries: '/Type/ObjStm/N 100000/First 1000000/Filter[/FlateDecode/FlateDecode]', data };
  const { body, offsets } = bodyOf([[0, CATALOGUE] as [number, Part], [3, stream]]);
  const plainRow = (offset: number): Buffer => Buffer.from([1, offset >> 8, offset & 0xff, 0]);
  const rows = Buffer.concat([
    Buffer.from([0, 0, 0, 0]),
    plainRow(offsets[0]![1]),
    Buffer.from([2, 0, 4, 0]),
    Buffer.from([2, 0, 4, 1]),
    plainRow(offsets[1]![1]),
  ]);
  const table = streamOf('/Type/XRef/Size 5/W[1 2 1]/Root 1 0 R', rows);
  return Buffer.concat([
    body,
    Buffer.from('5 0 obj'),
    table,
    Buffer.from(`\nendobj\nstartxref\n${body.length}\n%%EOF\n`),
  ]);
}

/** Returns a table that names itself as the one before, and a page tree that contains itself. */
function loops(): Buffer {
  const { body } = bodyOf([
    [0, CATALOGUE],
    [1, '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000000>>'],
  ]);
  const table = 'xref\n0 1\n0000000000 65535 f \n';
  const trailer = `trailer<</Size 3/Root 1 0 R/Prev ${body.length}>>\nstartxref\n${body.length}\n%%EOF\n`;
  return Buffer.concat([body, Buffer.from(table + trailer)]);
}

/** The file of the report: 900 MB of blanks behind two filters, in about 3 kB. */
export const doorsBomb = (): Buffer => pageOf(filtered('/FlateDecode/FlateDecode', twiceDeflatedRun(900)));

/** Files that the gateway has to refuse. */
export function pdfBombs(): readonly PdfBomb[] {
  return [
    { name: 'content that is deflated twice', bytes: doorsBomb() },
    { name: 'content that is deflated once', bytes: pageOf(filtered('/FlateDecode', deflatedRun(900))) },
    {
      name: 'LZW inside of deflate',
      bytes: pageOf(filtered('/FlateDecode/LZWDecode', deflateSync(lzwRun(40)))),
    },
    {
      name: 'run lengths inside of deflate',
      bytes: pageOf(
        filtered('/FlateDecode/RunLengthDecode', deflateSync(Buffer.alloc(16_000_000, Buffer.from([0x81, 0x20])))),
      ),
    },
    {
      name: 'ASCII85 inside of deflate',
      bytes: pageOf(filtered('/FlateDecode/FlateDecode/ASCII85Decode', twiceDeflatedRun(200, 0x7a))),
    },
    { name: 'an object stream', bytes: objectStream(twiceDeflatedRun(600)) },
    { name: 'a font file', bytes: fontPage(TRUE_TYPE, filtered('/FlateDecode/FlateDecode', twiceDeflatedRun(600))) },
    { name: 'a character map', bytes: fontPage(UNICODE_FONT, plain(hugeCMap())) },
    { name: 'forms that draw each other', bytes: laughingForms() },
    {
      name: 'arrays that are nested',
      bytes: pageOf(filtered('/FlateDecode/FlateDecode', twiceDeflatedRun(200, 0x5b))),
    },
    { name: 'a page tree of many levels', bytes: deepTree(60_000) },
  ];
}

/** Files that look dangerous and are answered, because what is dangerous in them is never read. */
export function harmlessPdfs(): readonly PdfBomb[] {
  const image = (filter: string, data: Buffer): Part => ({
    entries: `/Type/XObject/Subtype/Image/Width 100000/Height 100000/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter[${filter}]`,
    data,
  });
  const drawn = (filter: string): Buffer =>
    pageOf(plain('/X Do'), [image(filter, twiceDeflatedRun(600))], '/XObject<</X 5 0 R>>');
  return [
    { name: 'a JPEG 2000 image of 30 GB', bytes: drawn('/FlateDecode/FlateDecode/JPXDecode') },
    { name: 'a JBIG2 image of 30 GB', bytes: drawn('/FlateDecode/FlateDecode/JBIG2Decode') },
    { name: 'tables and pages that name themselves', bytes: loops() },
  ];
}

/** Returns a file with so many pages, whose contents are deflated. */
export function pdfOfPages(count: number, contentOf: (page: number) => Buffer): Buffer {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const kids = numbers.map((index) => `${4 + 2 * index} 0 R`).join(' ');
  return pdfOf([
    CATALOGUE,
    `<</Type/Pages/Kids[${kids}]/Count ${count}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...numbers.flatMap((index): Part[] => [
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents ${5 + 2 * index} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`,
      filtered('/FlateDecode', contentOf(index)),
    ]),
  ]);
}
