import { formatUsd } from '@libs/inference';
import { readAmount, ReportFields } from './report-fields';

describe(readAmount.name, () => {
  it.each([
    ['1.25', 0, '1.25'],
    ['-0.5', 0, '-0.5'],
    ['123.78912', 2, '1.2378912'],
    ['6e-7', 0, '0.0000006'],
    ['1.5E+2', 0, '150'],
    ['0.00015000000000000001', 0, '0.00015'],
    ['0.0000000000005', 0, '0.000000000001'],
  ])('reads %s with %d decimals of the unit as %s dollars', (text, scale, usd) => {
    expect(formatUsd(readAmount(text, scale)!)).toBe(usd);
  });

  it.each(['', '1,5', '$1', '.5', '1.', 'NaN', '1e999', null, 5])('refuses %p', (text) => {
    expect(readAmount(text)).toBeNull();
  });
});

describe(ReportFields.name, () => {
  const fields = new ReportFields('/report');

  it('reads days of Unix seconds and of RFC 3339', () => {
    expect(fields.day('1763596800')).toBe('2025-11-20');
    expect(fields.day('2025-11-20T00:00:00Z')).toBe('2025-11-20');
    for (const start of ['2025-11-20T05:00:00Z', '2025-11-20', null, '99999999999999']) {
      expect(() => fields.day(start)).toThrow();
    }
  });

  it('refuses texts that a terminal would obey', () => {
    expect(fields.text({ model: 'claude-sonnet-4, input – 1h' }, 'model')).toBe('claude-sonnet-4, input – 1h');
    expect(fields.text({}, 'model')).toBeNull();
    for (const model of ['\u001b[2J', 'a\nb', 'x'.repeat(501), 5]) {
      expect(() => fields.text({ model }, 'model')).toThrow();
    }
  });

  it('refuses counts, amounts and currencies that it does not know', () => {
    expect(fields.count({}, 'n')).toBe(0n);
    expect(() => fields.count({ n: '-1' }, 'n')).toThrow();
    expect(() => fields.count({ n: '1.5' }, 'n')).toThrow();
    expect(() => fields.amount({}, 'n')).toThrow();
    expect(() => fields.inDollars('eur')).toThrow();
  });
});
