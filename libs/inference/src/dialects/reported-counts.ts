import { type JsonCursor, type JsonMember, type ScannedObject, numberOf, objectOf, type JsonObject } from '@libs/json';
import type { BilledUnits } from '../pricing/price';
import { MOST_TURNS } from './inner-turns';

/** The counts of a usage object as the upstream wrote them; null if missing or not a number. */
export interface ReportedCounts {
  prompt: number | null;
  completion: number | null;
  total: number | null;
  cached: number | null;
  cacheWrite: number | null;
  audioPrompt: number | null;
  reasoning: number | null;
  audioCompletion: number | null;
  videoPrompt?: number | null;
  /** Image tokens of the prompt, including those read from a cache. */
  imagePrompt?: number | null;
  filePrompt?: number | null;
  imageCompletion?: number | null;
  /** Number of web searches, which some providers charge in addition to tokens (`num_search_queries` of Perplexity). */
  searches?: number | null;
  /**
   * Perplexity's `citation_tokens`: input that is not part of `prompt_tokens`, as its reasoning is not part of
   * `completion_tokens`.
   */
  citations?: number | null;
}

export const NO_COUNTS: Readonly<ReportedCounts> = {
  prompt: null,
  completion: null,
  total: null,
  cached: null,
  cacheWrite: null,
  audioPrompt: null,
  reasoning: null,
  audioCompletion: null,
};

/** The counts by the names that usage objects use for them. */
export type CountNames = ReadonlyMap<string, keyof ReportedCounts>;

const CHAT_COUNTS: CountNames = new Map<string, keyof ReportedCounts>([
  ['prompt_tokens', 'prompt'],
  ['completion_tokens', 'completion'],
  ['total_tokens', 'total'],
  ['citation_tokens', 'citations'],
  ['num_search_queries', 'searches'],
]);

/** Details that some providers write at the top level of the usage instead of inside its details. */
const OUTSIDE_DETAILS: CountNames = new Map<string, keyof ReportedCounts>([
  ['reasoning_tokens', 'reasoning'],
  // Moonshot, DeepSeek and Mistral.
  ['cached_tokens', 'cached'],
  ['prompt_cache_hit_tokens', 'cached'],
  ['num_cached_tokens', 'cached'],
]);

export const PROMPT_DETAILS: CountNames = new Map<string, keyof ReportedCounts>([
  ['cached_tokens', 'cached'],
  ['cache_write_tokens', 'cacheWrite'],
  // Alibaba.
  ['cache_creation_input_tokens', 'cacheWrite'],
  ['audio_tokens', 'audioPrompt'],
  ['image_tokens', 'imagePrompt'],
  ['video_tokens', 'videoPrompt'],
  ['file_tokens', 'filePrompt'],
]);

export const COMPLETION_DETAILS: CountNames = new Map<string, keyof ReportedCounts>([
  ['reasoning_tokens', 'reasoning'],
  ['audio_tokens', 'audioCompletion'],
  ['image_tokens', 'imageCompletion'],
]);

const CHAT_DETAILS: ReadonlyMap<string, CountNames> = new Map([
  ['prompt_tokens_details', PROMPT_DETAILS],
  ['completion_tokens_details', COMPLETION_DETAILS],
]);

/** A usage object of an upstream: its counts, and its position in the text so that it can be edited there. */
export interface ReportedUsage {
  readonly counts: ReportedCounts;
  readonly object: ScannedObject;
}

/** Reads the count in a field of a usage object. The cursor is at the value and is moved past it. */
export type CountReader = (key: string, cursor: JsonCursor, counts: ReportedCounts) => void;

/** Reads the usage at the cursor and moves past it; returns null if the value is not an object. */
export function readUsage(cursor: JsonCursor): ReportedUsage | null {
  return readUsageObject(cursor, readCount);
}

export function readUsageObject(cursor: JsonCursor, read: CountReader): ReportedUsage | null {
  if (!cursor.isObject()) {
    cursor.skipValue();
    return null;
  }
  const counts: ReportedCounts = { ...NO_COUNTS };
  const members: JsonMember[] = [];
  cursor.enterObject();
  for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
    const { keyStart, position: valueStart } = cursor;
    read(key, cursor, counts);
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  }
  return { counts, object: { bytes: cursor.bytes, members, closeBrace: cursor.position - 1 } };
}

function readCount(key: string, cursor: JsonCursor, counts: ReportedCounts): void {
  const details = CHAT_DETAILS.get(key);
  if (details !== undefined) return readDetails(cursor, counts, details);
  const name = CHAT_COUNTS.get(key);
  if (name !== undefined) counts[name] = cursor.readNumberOrNull();
  else readDetailOutside(key, cursor, counts);
}

/** Reads a detail at the top level of the usage. A value inside the details has precedence. */
function readDetailOutside(key: string, cursor: JsonCursor, counts: ReportedCounts): void {
  const name = OUTSIDE_DETAILS.get(key);
  if (name === undefined) cursor.skipValue();
  else counts[name] ??= whole(cursor.readNumberOrNull());
}

/** Reads the object of details at the cursor and moves past it. */
export function readDetails(cursor: JsonCursor, counts: ReportedCounts, names: CountNames): void {
  if (!cursor.isObject()) return cursor.skipValue();
  cursor.enterObject();
  for (let key = cursor.nextKey(); key !== null; key = cursor.nextKey()) {
    const name = names.get(key);
    const count = name === undefined ? null : whole(cursor.readNumberOrNull());
    if (count !== null) counts[name!] = count;
  }
}

/** Returns the counts of a parsed usage object of chat completions; null for a value that is not a count. */
export function chatCountsIn(usage: JsonObject): ReportedCounts {
  const counts = { ...NO_COUNTS };
  for (const [key, name] of CHAT_COUNTS) counts[name] = countIn(usage, key);
  // In the order of the document: if both names of a count are there, the first one counts, as when bytes are read.
  for (const key of Object.keys(usage)) {
    const name = OUTSIDE_DETAILS.get(key);
    if (name !== undefined) counts[name] ??= countIn(usage, key);
  }
  for (const [key, names] of CHAT_DETAILS) Object.assign(counts, detailsIn(usage[key], names));
  return counts;
}

/** Returns the counts that a parsed details object contains. */
export function detailsIn(details: unknown, names: CountNames): Partial<ReportedCounts> {
  const counts: Partial<ReportedCounts> = {};
  const said = objectOf(details);
  for (const [key, name] of names) {
    const count = countIn(said, key);
    if (count !== null) counts[name] = count;
  }
  return counts;
}

function countIn(object: JsonObject, key: string): number | null {
  return whole(numberOf(object[key]) ?? null);
}

export const NO_UNITS: BilledUnits = {};

/** Returns the counts of a usage that have prices of their own: web searches and image tokens. */
export function countedUnits({ searches = null, imagePrompt = null }: ReportedCounts): BilledUnits {
  const [webSearches, imageTokens] = [whole(searches), whole(imagePrompt) ?? 0];
  if (webSearches === null && imageTokens === 0) return NO_UNITS;
  return {
    ...(webSearches !== null && { webSearches: Math.min(webSearches, MOST_TURNS) }),
    ...(imageTokens > 0 && { imageTokens }),
  };
}

/** Returns a count if it is a whole number of at least 0; otherwise null. */
export function whole(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
