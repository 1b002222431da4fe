import type { LossLog } from '../model/loss-report';
import type { Endpoint } from '../catalogue/catalogue';
import { JsonCursor } from '../json/json-cursor';
import {
  findMember,
  memberEdits,
  scanMembersAt,
  type ByteEdit,
  type JsonMember,
  type ScannedObject,
} from '../json/json-members';
import { objectOf } from '../json/loose-values';

/** The APIs of OpenAI, which others speak with more members. */
type OpenAiApi = 'chat' | 'responses';

/** Those that a catalogue names among the parameters of a model. */
const SAMPLERS = new Set(['top_k', 'min_p', 'top_a', 'repetition_penalty']);

const CACHE_MARK = 'cache_control';
const CACHE_MARK_KEY = Buffer.from(`"${CACHE_MARK}"`);

/** Members that our callers have in both APIs and OpenAI in neither: it refuses the whole request for one of them. */
const OWN_MEMBERS = new Set([...SAMPLERS, 'image_config', CACHE_MARK]);

const NO_NAMES: readonly string[] = [];
const NO_EDITS: readonly ByteEdit[] = [];

/**
 * Whether an endpoint takes a member that OpenAI's API does not have: what `capabilities` says under the name of
 * the API, else for a sampler whether it is among the supported parameters. Undefined where the catalogue is silent.
 */
export function isTaken(endpoint: Endpoint, api: OpenAiApi, name: string): boolean | undefined {
  const declared = objectOf(endpoint.capabilities[api])[name];
  if (typeof declared === 'boolean') return declared;
  const { supportedParameters } = endpoint;
  return SAMPLERS.has(name) && supportedParameters.length > 0 ? supportedParameters.includes(name) : undefined;
}

/**
 * Whether a member of the caller's bytes must not reach an upstream that speaks the same API. Where the catalogue is
 * silent a sampler goes on, because self-hosted servers take it and without it would answer otherwise; what only
 * saves money or asks for pictures is no part of the API as it is documented, and does not.
 */
function isLeftOut(endpoint: Endpoint, api: OpenAiApi, name: string): boolean {
  return !(isTaken(endpoint, api, name) ?? SAMPLERS.has(name));
}

/** The names of our callers' own members that the endpoint's upstream is not sent; those with a value go to the log. */
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

/** A list of objects by the names that lead to it, each the member of the objects of the list before. */
export type ListPath = readonly [string, ...string[]];

/**
 * The edits that take marks for the prompt cache out of the objects of these lists, in order; none for an endpoint
 * that takes them. Members of that name anywhere else, such as a tool's own parameters, stay.
 */
export function cacheMarkEdits(
  request: ScannedObject,
  lists: readonly ListPath[],
  endpoint: Endpoint,
  api: OpenAiApi,
  log?: LossLog,
): readonly ByteEdit[] {
  // Few requests have a mark; looking for one takes a fraction of a microsecond.
  if (!request.bytes.includes(CACHE_MARK_KEY) || !isLeftOut(endpoint, api, CACHE_MARK)) return NO_EDITS;
  const edits = lists.flatMap((path) => removalsAt(request, path, CACHE_MARK));
  if (edits.length > 0) log?.drop(CACHE_MARK);
  return edits.sort((a, b) => a.start - b.start);
}

/** The edits, in order, that take a member out of the objects of a list. */
export function removalsAt(request: ScannedObject, path: ListPath, name: string): ByteEdit[] {
  return editsAt(request, path, (object) => without(object, name));
}

/** The edits, in order, of each object of a list. */
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
