/** Longer than each error of Redis. */
const MAX_LINE = 4_096;
/** A text, an error or a number. */
const LINE = /^(?:[+-][^\r]*|:-?\d{1,16})\r$/;
const NUMBER = /^:-?\d{1,16}\r$/;
/** The head of a list of two numbers. */
const PAIR = '*2\r';

/**
 * Knows the replies to commands of ours, in the protocol of Redis (RESP2): a line with a text, an error or a number, or
 * a list of two numbers. There is one for each command.
 */
export class RedisReplies {
  /** The line that has not arrived in full. */
  #rest = '';
  /** How many numbers of a list are yet to come. */
  #numbers = 0;
  /** How many commands have no reply yet. */
  #unanswered = 0;

  /** Says that a command was sent. */
  expectOne(): void {
    this.#unanswered += 1;
  }

  /** Returns whether the next bytes continue such replies. Once false, the connection cannot be read any more. */
  areExpected(chunk: Buffer): boolean {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop()!;
    return this.#rest.length <= MAX_LINE && lines.every((line) => this.#isExpected(line));
  }

  #isExpected(line: string): boolean {
    if (this.#numbers > 0) {
      this.#numbers -= 1;
      return NUMBER.test(line);
    }
    this.#unanswered -= 1;
    if (this.#unanswered < 0) return false;
    if (line === PAIR) this.#numbers = 2;
    return line === PAIR || (line.length <= MAX_LINE && LINE.test(line));
  }
}
