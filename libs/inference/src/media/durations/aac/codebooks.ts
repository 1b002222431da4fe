import type { Bits } from './bits';

/** Codewords of up to this length are found by one table lookup. */
const SHORT_BITS = 10;
const LONGEST_BITS = 19;

/** A Huffman code whose codewords are sorted by length, so that the number of codewords of each length defines it. */
export class Codebook {
  readonly #shortWords = new Uint16Array(1 << SHORT_BITS);

  /**
   * @param counts number of codewords with 1, 2, 3 … bits
   * @param values of the codewords in order, each below 16
   */
  constructor(
    private readonly counts: readonly number[],
    private readonly values: Uint8Array,
  ) {
    let word = 0;
    let index = 0;
    for (let length = 1; length <= SHORT_BITS; length += 1) {
      word *= 2;
      for (let left = counts[length - 1] ?? 0; left > 0; left -= 1) {
        const start = word << (SHORT_BITS - length);
        this.#shortWords.fill((length << 4) | values[index]!, start, start + (1 << (SHORT_BITS - length)));
        word += 1;
        index += 1;
      }
    }
  }

  /** Reads one word. Returns its value. */
  read(bits: Bits): number {
    const short = this.#shortWords[bits.peek(SHORT_BITS)]!;
    if (short === 0) return this.#readLong(bits);
    bits.position += short >> 4;
    return short & 15;
  }

  #readLong(bits: Bits): number {
    const ahead = bits.peek(LONGEST_BITS);
    let word = 0;
    let index = 0;
    for (let length = 1; length <= this.counts.length; length += 1) {
      const count = this.counts[length - 1]!;
      const distance = (ahead >> (LONGEST_BITS - length)) - word;
      if (distance < count) {
        bits.position += length;
        return this.values[index + distance]!;
      }
      index += count;
      word = (word + count) * 2;
    }
    throw new Error('A Huffman code has a word that it lacks');
  }
}

/** @param digits the values of the codewords, one digit each; all 0 if absent */
function codebook(counts: readonly number[], digits?: string): Codebook {
  const words = counts.reduce((sum, count) => sum + count, 0);
  return new Codebook(counts, digits === undefined ? new Uint8Array(words) : Uint8Array.from(digits, Number));
}

/** Codebook of scale factors. Their values are not needed to find the end of a block. */
export const SCALE_FACTORS = codebook([1, 0, 1, 3, 2, 4, 3, 5, 4, 6, 6, 6, 5, 8, 4, 7, 3, 7, 46]);

/**
 * Codebooks 1 to 11 of the spectrum (ISO 14496-3, 4.A.1). If sign bits follow a codeword, its value is their number. In
 * the last codebook, 3 is added for each number that is too large for the codeword and follows the signs.
 */
export const SPECTRUM: readonly Codebook[] = [
  codebook([1, 0, 0, 0, 8, 0, 24, 0, 24, 8, 16]),
  codebook([0, 0, 1, 1, 7, 24, 15, 19, 14]),
  codebook(
    [1, 0, 0, 4, 2, 6, 3, 5, 15, 15, 8, 9, 3, 3, 5, 2],
    '011112222232343311223232331221224334323244332333223243344233333344442233434443233',
  ),
  codebook(
    [0, 0, 0, 10, 6, 0, 9, 21, 8, 14, 11, 2],
    '433331202222121144443333333333332222222222221111444444333333333433344422222243333',
  ),
  codebook([1, 0, 0, 4, 4, 0, 4, 12, 12, 12, 18, 10, 4]),
  codebook([0, 0, 0, 9, 0, 16, 13, 8, 23, 8, 4]),
  codebook([1, 0, 2, 1, 0, 4, 5, 10, 14, 15, 8, 4], '0112221122211222222221122212122222222211222222222222112222222222'),
  codebook([0, 0, 1, 5, 7, 10, 14, 15, 8, 4], '2212120112222222221122222222221212222222121222222222221212222112'),
  codebook(
    [1, 0, 2, 1, 0, 4, 3, 8, 11, 20, 31, 38, 32, 14, 4],
    '0112221122211222222221122222221212222222212222222212221222212222112222222222222122212222222222222222222212212222222122222222222222212212222122222222222222222222222222222',
  ),
  codebook(
    [0, 0, 0, 3, 8, 14, 17, 25, 31, 41, 22, 8],
    '2222112222211222202211222222222222121222222222222121222222222222222222122222122222222222222222121222222212222221222222222222222221212122222222222222212122212221222222122',
  ),
  codebook(
    [0, 0, 0, 2, 6, 7, 16, 59, 55, 95, 43, 6],
    '0281122222212122222221122222222222222255555251215255552222255225552252555252255222155222212552252522222225221222222122222222222222122222222222422222242122222222222222222222222222222212222222222222222221222222222222222222222222222112222222222222222222222222212212122212222211222212212112112',
  ),
];
