import { applyEdits, findMember, memberEdits, type ScannedObject } from '@libs/json';
import { keptBytes } from '../../model/kept-bytes';
import type { ChatObject } from './relayed-answer';

/** Fields that some upstreams write as null. The API has no null there: the field is removed. */
const NEVER_NULL = ['usage', 'system_fingerprint'];
const NULL_START = 0x6e;
const NOTHING = Buffer.alloc(0);
/** Fields that must be read in every chunk, even if they equal those of the chunk before. */
const READ_EACH_TIME = new Set(['usage', 'error']);

/**
 * The part that all chunks of one stream have in common: their bytes up to the key `choices`, with their rewritten
 * form.
 *
 * Upstreams repeat `id`, `created`, `model` and more before the choices of every chunk. A chunk that begins with
 * exactly these bytes is neither parsed nor rewritten up to there.
 */
export class ChunkHead {
  private constructor(
    readonly bytes: Buffer,
    /** The head with our own fields in place of the upstream's, and a prefix. */
    readonly rewritten: Buffer,
  ) {}

  /** Returns the head of this chunk; null if an `own` field comes after the choices or the usage before them. */
  static learn(chunk: ChatObject, own: Readonly<Record<string, string>>, prefix: Buffer): ChunkHead | null {
    const { bytes, members } = chunk;
    const choices = members.find(({ key }) => key === 'choices');
    if (choices === undefined) return null;
    const before = members.filter(({ keyStart }) => keyStart < choices.keyStart);
    if (before.some(({ key }) => READ_EACH_TIME.has(key))) return null;
    const names = Object.keys(own);
    const known = names.filter((name) => before.some(({ key }) => key === name));
    const missing = names.filter((name) => !members.some(({ key }) => key === name));
    if (known.length + missing.length < names.length) return null;
    const head = bytes.subarray(0, choices.keyStart);
    const set = Object.fromEntries(known.map((name) => [name, own[name]!]));
    const scanned = { bytes: head, members: before, closeBrace: 0 };
    const remove = nullNames(scanned);
    if (before.every(({ key }) => remove.includes(key))) return null;
    const edits = memberEdits(scanned, { set, remove });
    const suffix = Buffer.from(missing.map((name) => `"${name}":${own[name]},`).join(''));
    const rewritten = applyEdits(head, edits, { prefix, suffix, from: 0 });
    return new ChunkHead(keptBytes(head), keptBytes(rewritten));
  }

  static readonly none = new ChunkHead(NOTHING, NOTHING);

  /** Returns the length of the head if the chunk begins with it; otherwise 0. */
  matched(chunk: Buffer): number {
    const { length } = this.bytes;
    if (length === 0 || chunk.length < length) return 0;
    return chunk.compare(this.bytes, 0, length, 0, length) === 0 ? length : 0;
  }
}

/** Returns the fields to remove from a chunk because their value is null. */
export function nullNames(chunk: ScannedObject): readonly string[] {
  return NEVER_NULL.filter((name) => {
    const member = findMember(chunk, name);
    return member !== undefined && chunk.bytes[member.valueStart] === NULL_START;
  });
}
