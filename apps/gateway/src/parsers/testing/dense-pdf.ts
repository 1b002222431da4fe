import { deflateSync } from 'node:zlib';

const LINE = 95;
const LINES_OF_PAGE = 60;

/** Returns a text for a page of small print. */
export function denseText(words: string): string {
  return words.repeat(Math.ceil((LINE * LINES_OF_PAGE) / words.length)).slice(0, LINE * LINES_OF_PAGE);
}

interface Entry {
  readonly kind: 1 | 2;
  readonly at: number;
  readonly index: number;
}

/**
 * Returns a PDF file of so many pages that show the same text, whose objects are packed into a compressed stream as
 * writers of today do: nothing of its pages can be seen in its bytes.
 *
 * @param told the number of pages that the file says it has
 */
export function densePdf(pages: number, text: string, told = pages): Buffer {
  const lines = text.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  const shown = lines.map((line) => `(${line.replace(/[()\\]/g, ' ')}) Tj T*`).join('\n');
  const content = streamOf('', deflateSync(`BT /F1 6 Tf 8 TL 30 820 Td\n${shown}\nET`));
  const kids = Array.from({ length: pages }, (_, index) => `${4 + index} 0 R`);
  const contentNumber = 4 + pages;
  const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents ${contentNumber} 0 R>>`;
  const packed = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${told}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...kids.map(() => page),
  ];
  const entries: Entry[] = packed.map((_, index) => ({ kind: 2, at: contentNumber + 1, index }));
  const head = '%PDF-1.7\n';
  const body: Buffer[] = [Buffer.from(head)];
  let length = head.length;
  for (const stream of [content, objectStream(packed)]) {
    const object = Buffer.concat([Buffer.from(`${1 + entries.length} 0 obj`), stream, Buffer.from('\nendobj\n')]);
    entries.push({ kind: 1, at: length, index: 0 });
    body.push(object);
    length += object.length;
  }
  return Buffer.concat([...body, tableOf(entries, length)]);
}

function streamOf(fields: string, data: Buffer): Buffer {
  const head = `<<${fields}/Filter/FlateDecode/Length ${data.length}>>stream\n`;
  return Buffer.concat([Buffer.from(head), data, Buffer.from('\nendstream')]);
}

function objectStream(objects: readonly string[]): Buffer {
  const offsets: string[] = [];
  let at = 0;
  for (const [index, object] of objects.entries()) {
    offsets.push(`${index + 1} ${at}`);
    at += object.length + 1;
  }
  const numbers = `${offsets.join(' ')} `;
  const fields = `/Type/ObjStm/N ${objects.length}/First ${numbers.length}`;
  return streamOf(fields, deflateSync(`${numbers}${objects.join('\n')}\n`));
}

function tableOf(entries: readonly Entry[], start: number): Buffer {
  const rows = [...entries, { kind: 1 as const, at: start, index: 0 }].map(({ kind, at, index }) => {
    const row = Buffer.alloc(7);
    row[0] = kind;
    row.writeUInt32BE(at, 1);
    row.writeUInt16BE(index, 5);
    return row;
  });
  const fields = `/Type/XRef/Size ${rows.length + 1}/W[1 4 2]/Root 1 0 R`;
  const table = streamOf(fields, deflateSync(Buffer.concat([Buffer.alloc(7), ...rows])));
  return Buffer.concat([
    Buffer.from(`${entries.length + 1} 0 obj`),
    table,
    Buffer.from(`\nendobj\nstartxref\n${start}\n%%EOF\n`),
  ]);
}
