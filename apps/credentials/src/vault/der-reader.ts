/** Tags of DER (ITU-T X.690) that private keys have. */
export const DER = { integer: 0x02, octetString: 0x04, sequence: 0x30 } as const;

const LONG_LENGTH = 0x80;

/** The bytes do not have the expected form. The message never contains any of them. */
export class DerProblem extends Error {}

/**
 * Reads DER elements one after another: definite lengths in their shortest form. Every reader finds the same elements
 * in such bytes.
 */
export class DerReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Returns the content of the next element. @throws DerProblem if it is a different element or incomplete */
  next(tag: number): Buffer {
    if (this.#byte() !== tag) throw new DerProblem('Another element');
    const length = this.#length();
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.bytes.length) throw new DerProblem('A cut element');
    return this.bytes.subarray(start, this.#at);
  }

  /** Returns the bytes of a whole number that is not negative, without zeros in front. @throws DerProblem */
  nextNumber(): Buffer {
    const content = this.next(DER.integer);
    const [first = LONG_LENGTH, second = LONG_LENGTH] = content;
    // A leading zero is allowed only if the number would be negative without it.
    if (first >= LONG_LENGTH || (first === 0 && second < LONG_LENGTH)) throw new DerProblem('No whole number');
    return first === 0 && content.length > 1 ? content.subarray(1) : content;
  }

  /** @throws DerProblem when there is more to read */
  end(): void {
    if (this.#at < this.bytes.length) throw new DerProblem('More elements');
  }

  #byte(): number {
    const byte = this.bytes[this.#at];
    if (byte === undefined) throw new DerProblem('A cut element');
    this.#at += 1;
    return byte;
  }

  /** At most two bytes, which is enough for private keys. */
  #length(): number {
    const first = this.#byte();
    if (first < LONG_LENGTH) return first;
    if (first !== 0x81 && first !== 0x82) throw new DerProblem('No length');
    const length = first === 0x81 ? this.#byte() : this.#byte() * 0x100 + this.#byte();
    if (length < (first === 0x81 ? LONG_LENGTH : 0x100)) throw new DerProblem('A length that is not the shortest');
    return length;
  }
}
