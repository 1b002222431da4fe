import { validateSync } from 'class-validator';
import { IsNameText, IsStoredText, IsUtcInstant, MayBeAbsent } from './member-rules';

class Sample {
  @MayBeAbsent()
  @IsNameText(1, 5)
  name?: unknown;

  @MayBeAbsent()
  @IsStoredText(5)
  note?: unknown;

  @MayBeAbsent()
  @IsUtcInstant()
  at?: unknown;
}

function refused(values: Partial<Sample>): string[] {
  return validateSync(Object.assign(new Sample(), values)).map(({ property }) => property);
}

describe('rules for members', () => {
  it('take what is absent', () => {
    expect(refused({})).toEqual([]);
  });

  it.each([null, 0, [], {}, ['abc']])('refuse %j for text and time', (value) => {
    expect(refused({ name: value, note: value, at: value })).toEqual(['name', 'note', 'at']);
  });

  it.each(['a', 'a b', '12345', 'ÄÖÜ', '😀😀😀😀😀'])('take %j for a name', (name) => {
    expect(refused({ name })).toEqual([]);
  });

  it.each(['', ' ', '123456', '😀😀😀😀😀😀', 'a\u0000', 'a\nb', '\u001b[m', '\u0085', '\ud800', 'a'.repeat(100_000)])(
    'refuse %j for a name',
    (name) => {
      expect(refused({ name })).toEqual(['name']);
    },
  );

  it.each(['', 'a\nb', '\tx'])('take %j for a text that is stored', (note) => {
    expect(refused({ note })).toEqual([]);
  });

  it.each(['123456', 'a\u0000', '\udc00'])('refuse %j for a text that is stored', (note) => {
    expect(refused({ note })).toEqual(['note']);
  });

  it('say of each text what it must be, and no more than is asked of it', () => {
    const sample = Object.assign(new Sample(), { name: 'a\nb', note: 'a\u0000' });
    expect(validateSync(sample).map(({ constraints }) => Object.values(constraints ?? {}))).toEqual([
      ['name must be text of 1 to 5 characters without control characters'],
      ['note must be valid Unicode text of at most 5 characters without NUL'],
    ]);
  });

  it.each([
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '2027-01-02T03:04:05Z',
    '2028-02-29T00:00:00.123Z',
    '2027-01-02T03:04:05.123456789Z',
  ])('take %s for a time', (at) => {
    expect(refused({ at })).toEqual([]);
  });

  it.each([
    '0000-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-01T24:00:00Z',
    '2027-01-01T00:00:60Z',
    '2027-01-01T00:00Z',
    '2027-01-01T00:00:00',
    '2027-01-01T00:00:00+00:00',
    '2027-01-01 00:00:00Z',
    '2027-01-01T00:00:00z',
    '2027-01-01T00:00:00Z\n',
    '+002027-01-01T00:00:00Z',
    '2027-01-01',
  ])('refuse %j for a time', (at) => {
    expect(refused({ at })).toEqual(['at']);
  });
});
