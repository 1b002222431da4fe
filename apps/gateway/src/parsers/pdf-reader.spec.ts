import { ParserPool } from './parser-pool';
import { PdfReader } from './pdf-reader';
import { densePdf } from './testing/dense-pdf';
import { outsideWork } from './testing/outside-work';
import { pdfOf } from './testing/pdf-bombs';
import { tinyPdf } from './testing/tiny-pdf';

const CATALOGUE = '<</Type/Catalog/Pages 2 0 R>>';
const NOTHING = '<<>>';
const LARGE_BYTES = 6 * 1024 * 1024;
const page = (more = ''): string => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]${more}>>`;
const node = (kids: string, count: number): string => `<</Type/Pages/Kids[${kids}]/Count ${count}>>`;
const refsTo = (first: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `${first + index} 0 R`).join(' ');
const pages = (count: number): readonly string[] => Array.from({ length: count }, () => page());

/** Returns a file whose head says how many pages it has, as files for the web do. */
function linearized(count: number, told: number): Buffer {
  const headOf = (length: number): string =>
    `<</Linearized 1/L ${String(length).padStart(6, '0')}/H[1 1]/O 4/E 1/N ${told}/T 1>>`;
  const made = (length: number): Buffer => {
    const [first, ...rest] = [headOf(length), node(refsTo(4, count), count), CATALOGUE, ...pages(count)];
    const file = pdfOf([first!, ...rest]).toString('latin1');
    return Buffer.from(file.replace('/Root 1 0 R', '/Root 3 0 R'), 'latin1');
  };
  return made(made(0).length);
}

/** Returns a file with a later version of some objects after its end, as editors write it. */
function updated(file: Buffer, objects: Readonly<Record<number, string>>): Buffer {
  const [previous] = /\d+(?=\n%%EOF\n$)/.exec(file.toString('latin1'))!;
  const pieces = [file];
  let length = file.length;
  const rows = Object.entries(objects).map(([number, object]) => {
    const piece = Buffer.from(`${number} 0 obj${object}\nendobj\n`);
    const row = `${number} 1\n${String(length).padStart(10, '0')} 00000 n \n`;
    pieces.push(piece);
    length += piece.length;
    return row;
  });
  const trailer = `trailer<</Size 20/Root 1 0 R/Prev ${previous}>>\nstartxref\n${length}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(`xref\n${rows.join('')}${trailer}`)]);
}

/** Returns the same file, whose table has a wrong place for an object. */
function misplaced(file: Buffer, number: number): Buffer {
  let row = -1;
  return Buffer.from(
    file
      .toString('latin1')
      .replaceAll(/\d{10} \d{5} [nf]/g, (place) => ((row += 1) === number ? '0000000003 00000 n' : place)),
    'latin1',
  );
}

describe(PdfReader.name, () => {
  const pool = new ParserPool();
  const reader = new PdfReader(pool);

  afterAll(() => pool.onApplicationShutdown());

  it.each<readonly [string, Buffer, number]>([
    ['one page', densePdf(1, 'a'), 1],
    ['a hundred packed pages', densePdf(100, 'a'), 100],
    ['pages without a table', tinyPdf(['a', 'b', 'c']), 3],
    [
      'pages on several levels',
      pdfOf([
        CATALOGUE,
        node('3 0 R 4 0 R 5 0 R', 6),
        node(refsTo(6, 2), 2),
        page(),
        node(refsTo(8, 3), 3),
        ...pages(5),
      ]),
      6,
    ],
    ['a head that says how many', linearized(3, 3), 3],
    [
      'pages that an update took out and left in the file',
      updated(pdfOf([CATALOGUE, node(refsTo(3, 4), 4), ...pages(4)]), { 2: node('4 0 R', 1) }),
      1,
    ],
    [
      'a page that an update wrote anew, and one that it added',
      updated(pdfOf([CATALOGUE, node(refsTo(3, 2), 2), ...pages(2)]), {
        2: node('3 0 R 4 0 R 9 0 R', 3),
        3: page('/Rotate 90'),
        9: page(),
      }),
      3,
    ],
    ['a number of pages that is too high', pdfOf([CATALOGUE, node(refsTo(3, 2), 9), ...pages(2)]), 2],
  ])('reads the whole of a file with %s', async (_what, file, count) => {
    expect(await reader.read(file, outsideWork())).toMatchObject({ pages: count, isCut: false });
  });

  it.each<readonly [string, Buffer]>([
    ['says that it has one page', pdfOf([CATALOGUE, node(refsTo(3, 9), 1), ...pages(9)])],
    ['says so in a packed stream', densePdf(9, 'a', 1)],
    ['says so in its head', linearized(9, 1)],
    [
      'says so after an update',
      updated(pdfOf([CATALOGUE, node(refsTo(3, 2), 2), ...pages(2)]), { 2: node('3 0 R 4 0 R', 1) }),
    ],
    [
      'has a part of which it says that it is empty',
      pdfOf([CATALOGUE, node('3 0 R 4 0 R', 1), page(), node(refsTo(5, 8), 0), ...pages(8)]),
    ],
    [
      'hides a page behind another that counts twice',
      pdfOf([CATALOGUE, node('3 0 R 4 0 R 5 0 R', 3), node('6 0 R', 0), node('7 0 R', 2), page(), ...pages(2)]),
    ],
    ['has pages inside of its tree', pdfOf([CATALOGUE, node(`${page()} ${page()}`, 2), NOTHING])],
    ['has pages below a page', pdfOf([CATALOGUE, node('3 0 R', 1), page('/Kids[4 0 R 5 0 R]'), ...pages(2)])],
    ['has its tree twice', pdfOf([CATALOGUE, node('3 0 R 2 0 R 4 0 R', 1), ...pages(2)])],
    ['has a page at a wrong place', misplaced(pdfOf([CATALOGUE, node(refsTo(3, 3), 1), ...pages(3)]), 4)],
    ['has a page that is missing', pdfOf([CATALOGUE, node('3 0 R 99 0 R 4 0 R', 1), ...pages(2)])],
  ])('says that a file is not read in whole which %s', async (_what, file) => {
    expect(await reader.read(file, outsideWork())).toMatchObject({ isCut: true });
  });

  const showing = (content: string, resources = ''): Buffer =>
    pdfOf([
      CATALOGUE,
      node('3 0 R', 1),
      page(`/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>${resources}>>`),
      `<</Length ${content.length}>>stream\n${content}\nendstream`,
      '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
      '<</ActualText(from the resources)>>',
    ]);
  const SHOWN = 'BT /F1 4 Tf 1 1 Td (x) Tj ET EMC';

  it('has the text that marked content states for what it shows', async () => {
    const file = showing(`/Span<</ActualText(stated)>>BDC ${SHOWN} /Span<</ActualText<FEFF00E9>>>BDC ${SHOWN}`);
    expect(await reader.read(file, outsideWork())).toMatchObject({
      text: 'xx',
      actualText: 'stated\n\u00e9',
      isCut: false,
    });
    expect(await reader.read(tinyPdf(['a page']), outsideWork())).toMatchObject({ actualText: '' });
  });

  it('does not know how often content is marked with a text of the resources', async () => {
    const file = showing(`/Span/MC0 BDC ${SHOWN}`, '/Properties<</MC0 6 0 R>>');
    expect(await reader.read(file, outsideWork())).toMatchObject({ text: 'x', actualText: null });
    const layers = showing(`/OC/MC0 BDC ${SHOWN}`, '/Properties<</MC0 5 0 R>>');
    expect(await reader.read(layers, outsideWork())).toMatchObject({ actualText: '' });
  });

  it('leaves nothing of a file to the files of others', async () => {
    const single = new ParserPool({ maxProcesses: 1 });
    const layered = page(`/Resources<</Properties<</MC0<</Type/OCG>>>>>>`);
    const file = pdfOf([CATALOGUE, node('3 0 R', 1), layered, { entries: '', data: Buffer.alloc(LARGE_BYTES, 'A') }]);
    const read: string[] = [];
    for (let nth = 0; nth < 24; nth += 1) {
      const { text } = await new PdfReader(single).read(file, outsideWork());
      read.push(text);
    }
    await single.onApplicationShutdown();
    expect(read).toEqual(Array.from({ length: 24 }, () => ''));
  });
});
