import {
  JsonCursor,
  findMember,
  memberEdits,
  scanMembersAt,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
  objectOf,
} from '@libs/json';
import type { LossLog } from '../model/loss-report';
import type { Endpoint } from '../catalogue/catalogue';

/** OpenAI's APIs that other providers have extended with fields of their own. */
type OpenAiApi = 'chat' | 'responses';

/** Samplers that count as supported if the catalogue lists them among the parameters of a model. */
const SAMPLERS = new Set(['top_k', 'min_p', 'top_a', 'repetition_penalty']);

const CACHE_MARK = 'cache_control';
const CACHE_MARK_KEY = Buffer.from(`"${CACHE_MARK}"`);

/** Fields that the gateway accepts on both APIs but OpenAI on neither: OpenAI refuses a request with one of them. */
const OWN_MEMBERS = new Set([...SAMPLERS, 'image_config', CACHE_MARK]);

/** OpenAI itself, in any of its regions. */
const OPENAI = /^https:\/\/(?:[a-z0-9-]+\.)?api\.openai\.com(?:[:/]|$)/;

const NO_NAMES: readonly string[] = [];
const NO_EDITS: readonly ByteEdit[] = [];

/** Returns whether an endpoint is OpenAI's or Azure's, whose APIs have what OpenAI documents. */
export function isOpenAis({ provider: { protocol, baseUrl } }: Endpoint): boolean {
  return protocol === 'azure' || (protocol === 'openai' && OPENAI.test(baseUrl));
}

/**
 * Returns whether an endpoint accepts a field that OpenAI's API does not have. `capabilities` decides, under the name
 * of the API; otherwise, for a sampler, the list of supported parameters. Undefined if the catalogue does not say.
 */
export function isTaken(endpoint: Endpoint, api: OpenAiApi, name: string): boolean | undefined {
  const declared = objectOf(endpoint.capabilities[api])[name];
  if (typeof declared === 'boolean') return declared;
  const { supportedParameters } = endpoint;
  return SAMPLERS.has(name) && supportedParameters.length > 0 ? supportedParameters.includes(name) : undefined;
}

/**
 * Returns whether a field must not be sent to an upstream of the same API. If the catalogue does not say, samplers are
 * sent, because self-hosted servers accept them and would answer differently without them. `image_config` and cache
 * marks, which OpenAI does not document, are not sent.
 */
function isLeftOut(endpoint: Endpoint, api: OpenAiApi, name: string): boolean {
  return !(isTaken(endpoint, api, name) ?? SAMPLERS.has(name));
}

/** Returns the names of these fields that are not sent to the upstream. Logs the ones that have a value. */
export function leftOutMembers(
  request: ScannedObject,
  endpoint: Endpoint,
  api: OpenAiApi,
  log?: LossLog,
): readonly string[] {
  let names: string[] | null = null;
  for (const { key, valueStart } of request.members) {
    if (!OWN_MEMBERS.has(key) || !isLeftOut(endpoint, api, key)) continue;
    (names ??= []).push(key);
    if (!new JsonCursor(request.bytes, valueStart).isNull()) log?.drop(key);
  }
  return names ?? NO_NAMES;
}

/** The path of a list of objects: each name is a field of the objects in the previous list. */
export type ListPath = readonly [string, ...string[]];

/**
 * Returns the edits, in order, that remove cache marks from the objects of these lists; none for an endpoint that
 * accepts marks. Fields with that name in other places, such as a tool's own parameters, are kept.
 */
export function cacheMarkEdits(
  request: ScannedObject,
  lists: readonly ListPath[],
  endpoint: Endpoint,
  api: OpenAiApi,
  log?: LossLog,
): readonly ByteEdit[] {
  // Most requests have no mark. This search takes a fraction of a microsecond.
  if (!request.bytes.includes(CACHE_MARK_KEY) || !isLeftOut(endpoint, api, CACHE_MARK)) return NO_EDITS;
  const edits = lists.flatMap((path) => removalsAt(request, path, CACHE_MARK));
  if (edits.length > 0) log?.drop(CACHE_MARK);
  return edits.sort((a, b) => a.start - b.start);
}

/** Returns the edits, in order, that remove a field from the objects of a list. */
export function removalsAt(request: ScannedObject, path: ListPath, name: string): ByteEdit[] {
  return editsAt(request, path, (object) => without(object, name));
}

/** Returns the edits of all objects of a list, in order. */
export function editsAt(
  request: ScannedObject,
  path: ListPath,
  editsOf: (object: ScannedObject) => readonly ByteEdit[],
): ByteEdit[] {
  return membersNamed(request, path[0]).flatMap((list) => editsIn(request, list, path, editsOf));
}

function membersNamed({ members }: ScannedObject, name: string): readonly JsonMember[] {
  return members.filter(({ key }) => key === name);
}

function editsIn(
  { bytes }: ScannedObject,
  { valueStart }: JsonMember,
  [, ...rest]: readonly string[],
  editsOf: (object: ScannedObject) => readonly ByteEdit[],
): ByteEdit[] {
  const cursor = new JsonCursor(bytes, valueStart);
  if (!cursor.isArray()) return [];
  const edits: ByteEdit[] = [];
  cursor.readArray(() => {
    if (!cursor.isObject()) return cursor.skipValue();
    const object = scanMembersAt(cursor);
    const [inner] = rest;
    if (inner === undefined) edits.push(...editsOf(object));
    else for (const list of membersNamed(object, inner)) edits.push(...editsIn(object, list, rest, editsOf));
  });
  return edits;
}

function without(object: ScannedObject, name: string): readonly ByteEdit[] {
  return findMember(object, name) ? memberEdits(object, { remove: [name] }) : NO_EDITS;
}
