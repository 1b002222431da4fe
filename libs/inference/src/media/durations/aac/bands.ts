/**
 * Widths of the frequency bands for long and short windows (ISO 14496-3, 4.5.4), divided by four, as base-36 digits.
 */
const WIDTHS: readonly (readonly [codes: readonly number[], long: string, short: string])[] = [
  [[0, 1], '11111111111111222223333344679bggggggggggg', '111111222479'],
  [[2], '11111111111111222233344456679aaaaaaaaaaaaaaaaaa', '111111222479'],
  [[3, 4], '111111111122222223333445566778888888888888888888o', '11111222333444'],
  [[5], '111111111122222223333445566778888888888888888888888', '11111222333444'],
  [[6, 7], '1111111111122222222223333444556677899abcddggggg', '111111122233445'],
  [[8, 9, 10], '222222222223333333334444555667789aabcdefggg', '111111112233455'],
  [[11, 12], '33333333333334444444555566677899abcdefgk', '111111122223455'],
];

export interface BandWidths {
  readonly long: readonly number[];
  readonly short: readonly number[];
}

/** Widths of the bands by sample rate code. */
export const BAND_WIDTHS: readonly BandWidths[] = WIDTHS.flatMap(([codes, long, short]) =>
  codes.map(() => ({ long: widthsOf(long), short: widthsOf(short) })),
);

function widthsOf(digits: string): readonly number[] {
  return Array.from(digits, (digit) => Number.parseInt(digit, 36) * 4);
}
