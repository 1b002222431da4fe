import { AppError } from '@libs/errors';
import fc from 'fast-check';
import { formatRate, formatUsd, parseRate, parseUsd, usdNumber } from './money';

const anyAmount = fc.bigInt({ min: -(10n ** 29n), max: 10n ** 29n });

describe('money', () => {
  it('reads back every amount that it wrote', () => {
    fc.assert(fc.property(anyAmount, (amount) => expect(parseUsd(formatUsd(amount))).toBe(amount)));
  });

  it('reads back every price that it wrote', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 35n }), (rate) => expect(parseRate(formatRate(rate))).toBe(rate)),
    );
  });

  it('adds up like whole pico-dollars, never like doubles', () => {
    expect(formatUsd(parseUsd('0.1') + parseUsd('0.2'))).toBe('0.3');
    fc.assert(
      fc.property(anyAmount, anyAmount, (a, b) => expect(parseUsd(formatUsd(a)) + parseUsd(formatUsd(b))).toBe(a + b)),
    );
  });

  it.each([
    [0n, '0'],
    [1n, '0.000000000001'],
    [150_000n, '0.00000015'],
    [-10n, '-0.00000000001'],
    [100_000_000_000n, '0.1'],
    [1_000_000_000_000n, '1'],
    [-1_500_000_000_000n, '-1.5'],
    [10_000_000_000_001n, '10.000000000001'],
    [10n ** 30n, '1000000000000000000'],
  ])('writes %s pico-dollars as %s', (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });

  it.each(['1.500', '0.0000000000010', '1.0000000000000000000'])('takes the zeros at the end of %s', (text) => {
    expect(() => parseUsd(text)).not.toThrow();
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '--1',
    '1e-7',
    '1E3',
    '.5',
    '5.',
    '01',
    '1,5',
    '1_000',
    '0x10',
    'NaN',
    'Infinity',
    '１',
    '0.0000000000001',
    '1'.repeat(19),
  ])('refuses %j', (text) => {
    expect(() => parseUsd(text)).toThrow(AppError);
    expect(() => parseUsd(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('does not repeat what it refuses', () => {
    expect(() => parseUsd('hunter2')).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
    );
  });

  it('refuses a number where a string is due', () => {
    expect(() => parseUsd(0.1 as unknown as string)).toThrow(AppError);
  });

  it('refuses a negative price', () => {
    expect(() => parseRate('-0.1')).toThrow(AppError);
  });

  it('holds prices far below a pico-dollar', () => {
    expect(parseRate('0.000000000000000001')).toBe(1n);
    expect(() => parseRate('0.0000000000000000001')).toThrow(AppError);
  });

  it('gives JSON the double nearest to the amount', () => {
    expect(usdNumber(parseUsd('0.1') + parseUsd('0.2'))).toBe(0.3);
    expect(usdNumber(150_000n)).toBe(1.5e-7);
    fc.assert(fc.property(anyAmount, (amount) => expect(usdNumber(amount)).toBe(Number(formatUsd(amount)))));
  });
});
