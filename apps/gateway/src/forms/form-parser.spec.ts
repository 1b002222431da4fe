import { AppError } from '@libs/errors';
import { fieldPart, filePart, rawForm, waveFile, type RawPart } from '@libs/inference/testing';
import fc from 'fast-check';
import { FormParser } from './form-parser';

const BOUNDARY = 'xYz';
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

interface Parsed {
  /** Length of the file in bytes, as computed when it begins. */
  readonly announced: number;
  readonly fields: [string, string][];
  readonly file: Buffer;
}

function parse(form: Buffer, cuts: readonly number[] = [], contentType = TYPE): Parsed {
  const fields: [string, string][] = [];
  const pieces: Buffer[] = [];
  let announced = 0;
  const parser = new FormParser(contentType, 'file', {
    onField: (name, value) => fields.push([name, value]),
    onFile: (_part, framing) => (announced = form.length - framing),
    onFileData: (piece) => pieces.push(piece),
  });
  const ends = [...cuts.map((cut) => cut % (form.length + 1)), form.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    parser.write(form.subarray(start, end));
    start = end;
  }
  parser.end();
  return { fields, file: Buffer.concat(pieces), announced };
}

const someBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
/** Bytes that look like a boundary, but for their end. */
const nearlyBoundary = fc.array(fc.constantFrom('\r', '\n', '\r\n--', `\r\n--${BOUNDARY.slice(0, 2)}`, '-', 'x'), {
  maxLength: 60,
});

describe(FormParser.name, () => {
  it('gives a file back byte by byte, however it is cut into pieces and whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          someBytes,
          nearlyBoundary.map((words) => Buffer.from(words.join(''))),
        ),
        fc.array(fc.nat(), { maxLength: 12 }),
        (bytes, cuts) => {
          const form = rawForm(BOUNDARY, [fieldPart('model', 'a/b'), filePart(bytes), fieldPart('user', 'ü')]);
          expect(parse(form, cuts)).toMatchObject({
            fields: [
              ['model', 'a/b'],
              ['user', 'ü'],
            ],
            file: bytes,
          });
        },
      ),
      { numRuns: 300 },
    );
  });

  it('tells when a file begins how long it is, where nothing follows it', () => {
    fc.assert(
      fc.property(someBytes, fc.array(fc.nat(), { maxLength: 12 }), fc.string(), (bytes, cuts, value) => {
        const form = rawForm(BOUNDARY, [fieldPart('model', 'a/b'), fieldPart('user', value), filePart(bytes)]);
        expect(parse(form, cuts).announced).toBe(bytes.length);
      }),
      { numRuns: 300 },
    );
  });

  it('refuses or reads whatever becomes of a form, and never fails otherwise', () => {
    const form = rawForm(BOUNDARY, [fieldPart('model', 'a/b'), filePart(waveFile(0.01)), fieldPart('user', 'x')]);
    const change = fc.record({ at: fc.nat(form.length - 1), bytes: fc.uint8Array({ maxLength: 6 }), drops: fc.nat(8) });
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 5 }),
        (changes, cuts) => {
          let spoiled = form;
          for (const { at, bytes, drops } of changes) {
            spoiled = Buffer.concat([spoiled.subarray(0, at), bytes, spoiled.subarray(at + drops)]);
          }
          try {
            parse(spoiled, cuts);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect((error as AppError).status).toBe(400);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['bare', TYPE],
    ['quoted', `multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`],
    ['in capitals', `Multipart/Form-Data; BOUNDARY=${BOUNDARY}`],
  ])('finds a boundary that is %s', (_how, contentType) => {
    const form = rawForm(BOUNDARY, [fieldPart('model', 'a/b')]);
    expect(parse(form, [], contentType).fields).toEqual([['model', 'a/b']]);
  });

  describe('at its bounds', () => {
    const field = fieldPart('model', 'a/b');
    const fieldOf = (name: string) => fieldPart(name, 'x');
    const headers = (count: number): RawPart => {
      const more = Array.from({ length: count - 1 }, (_, n) => `X-${n}: x`);
      return { head: [field.head, ...more].join('\r\n'), body: 'x' };
    };
    const headOf = (length: number): RawPart => {
      const start = `${field.head}\r\nX-Long: `;
      return { head: start + 'x'.repeat(length - start.length), body: 'x' };
    };
    const many = (count: number): RawPart[] => Array.from({ length: count }, (_, n) => fieldOf(`f${n}`));

    it.each<[string, number, (size: number) => readonly RawPart[]]>([
      ['parts', 20, many],
      ['bytes of a name', 100, (length) => [fieldOf('n'.repeat(length))]],
      ['bytes of a name in UTF-8', 50, (length) => [fieldOf('ü'.repeat(length))]],
      ['bytes of a field', 64 * 1024, (length) => [fieldPart('model', 'x'.repeat(length))]],
      ['bytes of a file name', 1_024, (length) => [filePart(Buffer.from('x'), 'n'.repeat(length))]],
      ['headers of a part', 16, (count) => [headers(count)]],
      ['bytes of the head of a part', 8 * 1024, (length) => [headOf(length)]],
    ])('takes so many %s: %d, and refuses one more', (_what, most, make) => {
      for (const cuts of [[], [10, 100, 1_000]]) {
        expect(() => parse(rawForm(BOUNDARY, make(most)), cuts)).not.toThrow();
        expect(() => parse(rawForm(BOUNDARY, make(most + 1)), cuts)).toThrow(AppError);
      }
    });

    it.each(['', '"'])('takes a boundary of 70 characters, and refuses one of 71 (quoted by %j)', (quote) => {
      const parseWith = (boundary: string) =>
        parse(rawForm(boundary, [field]), [], `multipart/form-data; boundary=${quote}${boundary}${quote}`);
      expect(parseWith('b'.repeat(70)).fields).toEqual([['model', 'a/b']]);
      expect(() => parseWith('b'.repeat(71))).toThrow(AppError);
    });
  });

  it('does not take what stands in quotes for a parameter', () => {
    const head = 'Content-Disposition: form-data; filename="a; name=model.wav"; name="file"';
    expect(parse(rawForm(BOUNDARY, [{ head, body: 'x' }])).file.toString()).toBe('x');
  });
});
