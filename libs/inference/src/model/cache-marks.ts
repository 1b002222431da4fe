import { ByteNames, unescapedName } from './byte-names';
import type { CacheWrite } from '../pricing/prompt-kinds';

/** Names that ask a provider to write to its prompt cache, and the one that says for how long. */
const NAMES = new ByteNames<'mark' | 'ttl'>({ cache_control: 'mark', prompt_cache_breakpoint: 'mark', ttl: 'ttl' });

/** The providers' default lifetime. Any other may be charged as an hour. */
const SHORT_TTL = Buffer.from('5m');

/** A name of ours has no more bytes than this, even if each character is escaped. */
const LONGEST_NAME = 'prompt_cache_breakpoint'.length * '\\u0000'.length;

/** Finds cache marks anywhere in one JSON text. A mark that is none only makes the hold larger. */
export class CacheMarks {
  /** The longest lifetime that a mark asks for; null without marks. */
  longest: CacheWrite | null = null;
  /** Depth of the fields of the open mark, or 0. */
  private openDepth = 0;
  private isTtl = false;

  constructor(private readonly bytes: Buffer) {}

  /** The name of a member at nesting `depth`, between these offsets. */
  enter(depth: number, start: number, end: number, hasEscape: boolean): void {
    const name = hasEscape ? this.findEscaped(start, end) : NAMES.find(this.bytes, start, end);
    this.isTtl = name === 'ttl' && depth === this.openDepth;
    if (name === 'mark') {
      this.openDepth = depth + 1;
      this.longest ??= '5m';
    } else if (depth < this.openDepth) {
      this.openDepth = 0;
    }
  }

  /** A string between these offsets is the value of the last name. */
  value(start: number, end: number): void {
    if (!this.isTtl) return;
    this.isTtl = false;
    if (!this.bytes.subarray(start, end).equals(SHORT_TTL)) this.longest = '1h';
  }

  private findEscaped(start: number, end: number): 'mark' | 'ttl' | undefined {
    if (end - start > LONGEST_NAME) return undefined;
    const name = unescapedName(this.bytes.toString('utf8', start, end));
    return NAMES.find(name, 0, name.length);
  }
}
