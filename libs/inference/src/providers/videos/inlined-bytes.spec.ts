import fc from 'fast-check';
import { InlinedBytes, UnreadableBytes } from './inlined-bytes';

interface Taken {
  readonly rest: unknown;
  readonly bytes: Buffer[];
}

function take(text: string, cuts: readonly number[] = []): Taken {
  const found: Buffer[][] = [];
  const scan = new InlinedBytes('data', (index, piece) => (found[index] ??= []).push(piece));
  const whole = Buffer.from(text);
  const ends = [...cuts.map((cut) => cut % (whole.length + 1)), whole.length].toSorted((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    scan.write(whole.subarray(start, end));
    start = end;
  }
  const rest: unknown = JSON.parse(scan.rest());
  return { rest, bytes: Array.from({ length: scan.count }, (_, index) => Buffer.concat(found[index] ?? [])) };
}

describe(InlinedBytes.name, () => {
  it('takes the bytes out, however the document arrives and whatever else it says', () => {
    const document = fc.record({
      before: fc.string({ unit: 'grapheme', maxLength: 30 }),
      videos: fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 4 }),
      escapes: fc.boolean(),
      indent: fc.constantFrom(0, 2),
    });
    fc.assert(
      fc.property(document, fc.array(fc.nat(), { maxLength: 20 }), ({ before, videos, escapes, indent }, cuts) => {
        const base64 = videos.map((bytes) => Buffer.from(bytes).toString('base64'));
        const make = (texts: readonly string[]) => ({
          note: before,
          data2: before,
          list: texts.map((data) => ({ data })),
        });
        let text = JSON.stringify(make(base64), null, indent);
        if (escapes) text = text.replaceAll('=', '\\u003d').replaceAll('/', '\\/');
        const { rest, bytes } = take(text, cuts);
        const noted = escapes
          ? (JSON.parse(JSON.stringify(make(base64.map(() => '')))) as object)
          : make(base64.map(() => ''));
        expect(rest).toEqual(noted);
        expect(bytes.map((each) => [...each])).toEqual(videos.map((each) => [...each]));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves a text alone that only says the name, and a member of it that is no text', () => {
    const said = { a: 'data', list: ['data', 'QUJD'], data: { x: 'QUJD' }, b: { data: null }, c: '{"data":"QUJD"}' };
    expect(take(JSON.stringify(said))).toEqual({ rest: said, bytes: [] });
  });

  it.each([
    ['no base64', '{"data":"!!!!"}'],
    ['more behind its end', '{"data":"QQ==QUJD"}'],
    ['half a group', '{"data":"QUJDR"}'],
    ['an escape of another kind', '{"data":"QU\\nJD"}'],
    ['an escape of nothing', '{"data":"QUJD\\'],
    ['no end', '{"data":"QUJD'],
    ['no end of another text', '{"note":"QUJD'],
  ])('does not read %s', (_what, text) => {
    expect(() => take(text)).toThrow(UnreadableBytes);
    expect(() =>
      take(
        text,
        Array.from({ length: text.length }, (_, at) => at),
      ),
    ).toThrow(UnreadableBytes);
  });

  it('keeps no more than a bounded rest, however much the bytes are', () => {
    let bytes = 0;
    const scan = new InlinedBytes('data', (_index, { length }) => (bytes += length));
    scan.write(Buffer.from('{"data":"'));
    for (let times = 0; times < 1_000; times += 1) scan.write(Buffer.alloc(64 * 1024, 0x41));
    scan.write(Buffer.from('"}'));
    expect([bytes, scan.rest()]).toEqual([49_152_000, '{"data":""}']);
    expect(() => scan.write(Buffer.from(`"${'x'.repeat(256 * 1024)}"`))).toThrow(UnreadableBytes);
  });
});
