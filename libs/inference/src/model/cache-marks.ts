import { ByteNames, unescapedName } from './byte-names';
import type { CacheWrite } from '../pricing/prompt-kinds';

/** Field names that ask a provider to write to its prompt cache, and the field name of the lifetime. */
const NAMES = new ByteNames<'mark' | 'ttl'>({ cache_control: 'mark', prompt_cache_breakpoint: 'mark', ttl: 'ttl' });

/** The providers' default lifetime. Any other may be charged as one hour. */
const SHORT_TTL = Buffer.from('5m');

/** Longest encoding of a known name in bytes, if each character is escaped. */
const LONGEST_NAME = 'prompt_cache_breakpoint'.length * '\\u0000'.length;

/**
 * Finds cache marks anywhere in one JSON text. Something that only looks like a mark just makes the reservation larger.
 */
export class CacheMarks {
  /** The longest lifetime that any mark asks for; null without marks. */
  longest: CacheWrite | null = null;
  /** Nesting depth of the fields of the current mark, or 0. */
  private openDepth = 0;
  private isTtl = false;

  constructor(private readonly bytes: Buffer) {}

  /** Handles the name of a field at nesting `depth`, between these offsets. */
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

  /** Handles a string between these offsets, which is the value of the last name. */
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
