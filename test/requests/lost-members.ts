import { MARKER, type Json, type JsonRecord } from './any-value';
import type { Fate, Send } from './audited-endpoint';
import type { Member, Path } from './expected-members';

export interface Audited {
  readonly send: Send;
  /** Whether a member is for the gateway alone, or says what is the case without it. */
  readonly isExpected: (member: Member) => boolean;
  /** Whether the gateway would take the request. */
  readonly isValid: (body: JsonRecord) => boolean;
}

/**
 * Returns the paths of a request's members that its endpoint loses without a word. A member is
 *
 * - sent on, if the body that the provider is sent holds its markers, as they are or in base64, and differs without
 *   it; a member that the API requires, and a word that is nowhere else in the request, only need the first;
 * - named, if the last word of a name in `dropped` or `approximated` is its name, or the name or `type` of an object
 *   around it; or if another name is there than without it;
 * - refused, if the whole request is, or the request without it.
 *
 * A member that is not sent is not searched further: what it holds goes with it. `whole` is what became of the request.
 */
export async function lostMembers(
  body: JsonRecord,
  whole: Fate,
  { send, isExpected, isValid }: Audited,
): Promise<string[]> {
  if ('refused' in whole) return [];
  const isLost = async (value: Json, path: Path): Promise<boolean> => {
    // All that is in it may be named one by one.
    if (isNamed(wordsIn(value), whole.lost)) return false;
    if (!isThere(path, value, whole.sent)) return true;
    if (isOnlyWord(body, value, whole.sent)) return false;
    // Last, for these take most of the time.
    const other = without(body, path) as JsonRecord;
    return isValid(other) && !differs(whole, await send(other));
  };
  const visit = async (value: Json, path: Path): Promise<string[]> => {
    if (typeof path.at(-1) === 'string') {
      if (isExpected({ path, value, body }) || isNamed(wordsAlong(body, path), whole.lost)) return [];
      if (await isLost(value, path)) return [path.filter((step) => typeof step === 'string').join('.')];
    }
    if (typeof value !== 'object' || value === null) return [];
    const lost: string[] = [];
    for (const [key, inner] of Object.entries(value)) {
      lost.push(...(await visit(inner as Json, [...path, Array.isArray(value) ? Number(key) : key])));
    }
    return lost;
  };
  return visit(body, []);
}

function differs(whole: Extract<Fate, { sent: string }>, other: Fate): boolean {
  if ('refused' in other) return true;
  return other.sent !== whole.sent || other.lost.join() !== whole.lost.join();
}

/** Sent as a hash. */
const HASHED: ReadonlySet<string> = new Set(['user', 'safety_identifier', 'user_id', 'prompt_cache_key']);

/** Of a text, whether its markers arrived; objects are searched member by member. */
function isThere(path: Path, value: Json, sent: string): boolean {
  if (HASHED.has(String(path.at(-1)))) return true;
  return typeof value !== 'string' || (value.match(MARKER) ?? []).every((marker) => isIn(sent, marker));
}

/** Whether a word, such as an effort, occurs once in a request and is in what is sent. */
function isOnlyWord(body: JsonRecord, value: Json, sent: string): boolean {
  if (typeof value !== 'string') return false;
  const word = JSON.stringify(value);
  return sent.includes(word) && JSON.stringify(body).split(word).length === 2;
}

function isIn(sent: string, marker: string): boolean {
  return sent.includes(marker) || sent.includes(Buffer.from(marker).toString('base64'));
}

/** What reports call some members and types, where that is another name. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  prompt_cache_breakpoint: ['cache_control'],
  image_url: ['image'],
  input_image: ['image'],
  images: ['image'],
  input_audio: ['audio'],
  video_url: ['video'],
  input_video: ['video'],
  document: ['file'],
  input_file: ['file'],
  citations: ['annotations'],
  stop_sequences: ['stop'],
  reasoning_details: ['reasoning'],
  reasoning: ['reasoning_details'],
  thinking: ['reasoning', 'reasoning_details'],
  redacted_thinking: ['reasoning', 'reasoning_details'],
  display: ['summary'],
  effort: ['reasoning'],
  format: ['response_format'],
  title: ['filename'],
  top_logprobs: ['logprobs'],
  reasoning_effort: ['reasoning', 'effort'],
  speed: ['service_tier'],
  user_id: ['user'],
  safety_identifier: ['user'],
};

/** Of a conversation, reports name what is lost; its own name would cover everything in it. */
const TOO_WIDE: ReadonlySet<string> = new Set(['messages', 'input', 'content']);

function isNamed(words: ReadonlySet<string>, names: readonly string[]): boolean {
  return names.some((name) => {
    const last = name.slice(name.lastIndexOf('.') + 1);
    return !TOO_WIDE.has(last) && words.has(last);
  });
}

/** Names of members along a path, and types of the objects on it. */
function wordsAlong(body: JsonRecord, path: Path): ReadonlySet<string> {
  const words = new Set<string>();
  let at: Json = body;
  for (const step of path) {
    if (typeof step === 'string') addWord(words, step);
    at = (at as Record<string | number, Json>)[step]!;
    if (typeof at === 'object' && at !== null && !Array.isArray(at)) addWord(words, (at as JsonRecord)['type']);
  }
  return words;
}

/** Types of the objects in a value, and names of their members. */
function wordsIn(value: Json, words = new Set<string>()): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return words;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) addWord(words, name);
    if (name === 'type') addWord(words, inner);
    wordsIn(inner as Json, words);
  }
  return words;
}

function addWord(words: Set<string>, word: unknown): void {
  if (typeof word !== 'string') return;
  words.add(word);
  for (const other of CALLED[word] ?? []) words.add(other);
}

/** A copy without the member at the path. */
function without(value: Json, [step, ...rest]: Path): Json {
  if (Array.isArray(value)) return value.map((item: Json, at) => (at === step ? without(item, rest) : item));
  const members = value as JsonRecord;
  if (rest.length > 0) return { ...members, [step!]: without(members[step!]!, rest) };
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== step));
}
