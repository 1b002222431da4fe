import { JsonCursor, scanMembers, spliceMembers, type JsonMember, type ScannedObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import { MemberNames } from '../model/member-names';
import type { LossLog } from '../model/loss-report';
import { upstreamCacheKey, upstreamUser, type ProviderAccount } from '../model/provider-account';
import { hashOfUser, type RelayedApi } from './request-members';
import { mustRefuseStoring } from './stored-chats';

/**
 * What a field would make an upstream store or learn.
 * - `answer`: it stores the answer in the account that calls, or continues a stored one;
 * - `prompt`: it stores the prompt for longer; `lifetime` is such a setting inside an object with other settings;
 * - `cache-key`: decides whose prompts are cached together;
 * - `user`: identifies the end user; `notes` may do so too.
 * - `record`: is for the records of the gateway alone, which takes it out in its own spelling.
 */
type Care = 'answer' | 'prompt' | 'lifetime' | 'cache-key' | 'user' | 'notes' | 'record';

/** `extra_body` may hold any field; some providers treat its fields as fields of the request. */
const CARES: Readonly<Record<string, Care>> = {
  store: 'answer',
  store_messages: 'answer',
  deferred: 'answer',
  background: 'answer',
  previous_response_id: 'answer',
  conversation: 'answer',
  extra_body: 'answer',
  prompt_cache_retention: 'prompt',
  caching: 'prompt',
  prompt_cache_options: 'lifetime',
  prompt_cache_key: 'cache-key',
  prompt_cache_isolation_key: 'cache-key',
  cache_salt: 'cache-key',
  user: 'user',
  safety_identifier: 'user',
  user_id: 'user',
  end_user: 'user',
  end_user_id: 'user',
  external_user: 'user',
  user_security_context: 'user',
  metadata: 'notes',
  session_id: 'record',
  trace: 'record',
};
const CARED = new MemberNames(Object.keys(CARES));
const STORE = new MemberNames(['store']);

/** Fields with which an API identifies the end user. The Messages API has it in its metadata. */
const USERS: Readonly<Record<RelayedApi, readonly string[]>> = {
  chat: ['user', 'safety_identifier'],
  responses: ['user', 'safety_identifier'],
  messages: [],
  embeddings: ['user', 'safety_identifier'],
};
/** Fields that are never sent, by API: nothing is stored, not even in the caller's own account. */
const NEVER_SENT: Readonly<Partial<Record<RelayedApi, ReadonlySet<string>>>> = {
  responses: new Set(['store', 'background', 'previous_response_id', 'conversation']),
};

interface Settings {
  readonly api: RelayedApi;
  readonly account: ProviderAccount;
}

/** A field under its standard name, which may differ from the spelling in the request. */
interface Named {
  readonly name: string;
  readonly key: string;
  /** The value as JSON text. */
  readonly text: Buffer;
}

/** True: the field is sent unchanged. False: it is not sent. JSON text: it is sent in place of the value. */
type Verdict = boolean | string | Buffer;

/**
 * Returns the fields of a request that are not sent to the upstream, because they would make it store what it must not
 * store, or learn who the end user is. Recognizes every spelling that some provider accepts.
 * @param set JSON texts by field name; hashes of users and cache keys are added
 */
export function retainedMembers(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  settings: Settings,
): readonly string[] {
  const removed: string[] = [];
  for (const member of request.members) {
    const name = CARED.find(member.key);
    if (name === undefined) continue;
    const verdict = VERDICTS[CARES[name]!]({ name, key: member.key, text: textOf(request, member) }, settings);
    if (verdict === false) removed.push(member.key);
    else if (verdict !== true) set[member.key] = verdict;
  }
  return removed;
}

/** Logs each of these fields that is in the request and is neither null nor false. */
export function dropRetained(request: ScannedObject, names: readonly string[], log: LossLog | undefined): void {
  const dropped = new Set(names);
  for (const { key, valueStart, valueEnd } of request.members) {
    if (!dropped.has(key)) continue;
    const text = request.bytes.toString('latin1', valueStart, Math.min(valueEnd, valueStart + 6));
    if (text !== 'null' && text !== 'false') log?.drop(key);
  }
}

/**
 * Returns these fields for chat requests. Includes `metadata` if the answer is not stored, because OpenAI then refuses
 * it.
 */
export function retainedInChat(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  endpoint: Endpoint,
  account: ProviderAccount,
): readonly string[] {
  const removed = retainedMembers(request, set, { api: 'chat', account });
  const mustRefuse = mustRefuseStoring(endpoint, account);
  if (mustRefuse) set['store'] = 'false';
  const isUnstored = mustRefuse || removed.some((name) => STORE.has(name));
  if (!isUnstored) return removed;
  delete set['metadata'];
  return [...removed, 'metadata'];
}

/** Returns the names of fields in the metadata of messages that identify the end user, except for the API's own field. */
export function usersInNotes({ members }: ScannedObject): readonly string[] {
  return members.flatMap(({ key }) => (key !== 'user_id' && isUser(key) ? [key] : []));
}

/** Returns metadata without the fields that identify the end user, unless the account is the caller's and may keep them. */
export function withoutUsers<Value>(
  notes: Readonly<Record<string, Value>> | undefined,
  account: ProviderAccount,
): Readonly<Record<string, Value>> | undefined {
  if (notes === undefined || mayKeepUsers(account) || !Object.keys(notes).some(isUser)) return notes;
  return Object.fromEntries(Object.entries(notes).filter(([key]) => !isUser(key)));
}

function isUser(name: string): boolean {
  return CARES[CARED.find(name) ?? ''] === 'user';
}

function mayKeepUsers({ isOwn, keepsNothing }: ProviderAccount): boolean {
  return isOwn && !keepsNothing;
}

const VERDICTS: Readonly<Record<Care, (member: Named, settings: Settings) => Verdict>> = {
  answer: (member, settings) => mayKeepAnswer(member, settings) || !isGiven(member),
  prompt: (member, { account }) => !account.keepsNothing || !isGiven(member),
  lifetime: (member, { account }) => !account.keepsNothing || !isGiven(member) || withoutLifetime(member),
  'cache-key': (member, { account }) => account.isOwn || isNull(member) || boundKey(member, account),
  user: (member, settings) => hashedUser(member, settings),
  notes: (member, settings) => member.key === member.name && guardedNotes(member, settings),
  record: ({ name, key }) => key === name,
};

function mayKeepAnswer({ name }: Named, { api, account }: Settings): boolean {
  if (NEVER_SENT[api]?.has(name) === true) return false;
  return account.isOwn && !account.keepsNothing;
}

/** Removes the lifetime from cache options and keeps the mode. */
function withoutLifetime({ name, key, text }: Named): Verdict {
  if (key !== name || !new JsonCursor(text).isObject()) return false;
  const options = scanMembers(text);
  const remove = options.members.flatMap(({ key: option }) => (option === 'mode' ? [] : [option]));
  return remove.length === 0 || spliceMembers(options, { remove });
}

/** The metadata of messages has a field for the end user, and is read with it. */
function guardedNotes({ text }: Named, { api, account }: Settings): Verdict {
  if (api === 'messages' || mayKeepUsers(account) || !new JsonCursor(text).isObject()) return true;
  const notes = scanMembers(text);
  const remove = notes.members.flatMap(({ key }) => (isUser(key) ? [key] : []));
  return remove.length === 0 || spliceMembers(notes, { remove });
}

function boundKey(member: Named, account: ProviderAccount): Verdict {
  const key = stringOf(member);
  return key !== null && JSON.stringify(upstreamCacheKey(key, account));
}

/** Replaces the end user by a hash, which is the same for the same user. */
function hashedUser(member: Named, { api, account }: Settings): Verdict {
  if (!USERS[api].includes(member.key)) return false;
  const user = stringOf(member);
  return user === null ? isNull(member) : JSON.stringify(upstreamUser(hashOfUser(user), account));
}

/** Returns the value as text; null if it is not a string, or if the name is not spelled as in the API. */
function stringOf({ name, key, text }: Named): string | null {
  return key === name && text[0] === QUOTE ? (JSON.parse(text.toString()) as string) : null;
}

const QUOTE = 0x22;

function isGiven(member: Named): boolean {
  return !isNull(member) && !(member.text.length === 'false'.length && member.text.toString('latin1') === 'false');
}

function isNull({ text }: Named): boolean {
  return new JsonCursor(text).isNull();
}

function textOf({ bytes }: ScannedObject, { valueStart, valueEnd }: JsonMember): Buffer {
  return bytes.subarray(valueStart, valueEnd);
}
