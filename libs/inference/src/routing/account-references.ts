import { isObject, type JsonObject } from '@libs/json';
import {
  findInBody,
  isCloudStorage,
  isLinkMember,
  isTextMember,
  linkHeadOf,
  parseLink,
  placeOf,
  type Holder,
  type LinkHead,
} from '@libs/contracts';
import type { EndpointNeed } from '../model/endpoint-need';
import { MemberNames } from '../model/member-names';

/**
 * Fields whose values name an object in the provider account that makes the call: files, stores, containers, skills,
 * caches. On shared capacity that is the operator's account, which all tenants share.
 */
const ID_MEMBERS = new MemberNames([
  'file_id',
  'file_ids',
  'vector_store_id',
  'vector_store_ids',
  'collection_id',
  'collection_ids',
  'library_id',
  'library_ids',
  'knowledge_id',
  'knowledge_base_id',
  'knowledge_base_ids',
  'container',
  'container_id',
  'container_ids',
  'cached_content',
  'context_id',
  'memory_id',
  'memory_ids',
  'pipeline_ids',
  'assistant_id',
  'thread_id',
  'prompt_id',
  'prompt_template_id',
  'skill_id',
  'project_connection_id',
]);
/**
 * Fields that name an object by the `id` inside them. The `audio` of an earlier answer is not included: its id is
 * random, valid for an hour, and known only to the caller who got that answer, and voice conversations need it.
 */
const NAMED_BY_ID = new MemberNames(['container', 'prompt', 'voice']);
/** Fields that a provider opens with the rights of the account, whatever their content is. */
const OPENED = new MemberNames(['data_sources']);
/** Skills that the provider itself offers to all customers. */
const PUBLIC_SKILLS = 'anthropic';
const SKILL = new MemberNames(['skill_id']);
const LONGEST_LINK = 8_192;
/** Fields with base64 bytes, which some dialects treat as a link if they are not base64. */
const BYTES: ReadonlySet<string> = new Set(['file_data', 'data']);
/** Matches the name of a file in Google's file API. */
const GOOGLE_FILE_NAME = /^\s*files\//i;
const GOOGLE_HOST = /(?:^|\.)googleapis\.com$/;
/** Matches a file of Alibaba Cloud, which its long-context models read if a text begins with its name. */
const FILE_IN_TEXT = /^\s*fileid:\/\//i;

/** Returns the path of the first field that names an object in the provider's account; null if there is none. */
export function accountReferenceIn(body: JsonObject): string | null {
  const found = findInBody(body, (name, value, holder) =>
    refersToAccount(name, value, holder) ? suffixOf(name, value) : null,
  );
  return found === null ? optionReferenceIn(body) : `${found.path}${found.what}`;
}

/**
 * Returns the path of such a field in `provider.options`. These fields belong to the providers, so any of them may hold
 * a link.
 */
function optionReferenceIn({ provider }: JsonObject): string | null {
  const options = isObject(provider) ? provider['options'] : undefined;
  const found = options === undefined || options === null ? null : accountLinkIn(options, '');
  return found === null ? null : `provider.options${found}`;
}

/** @param place name of the field that has the value, or has the list with the value */
function accountLinkIn(value: unknown, place: string): string | null {
  if (typeof value === 'string') return isAccountLink(value) || GOOGLE_FILE_NAME.test(value) ? '' : null;
  if (typeof value !== 'object' || value === null) return null;
  const holder = { fields: value as JsonObject, place, within: '' };
  for (const name of Object.keys(value)) {
    const found = linkInMember(name, holder, Array.isArray(value));
    if (found !== null) return found;
  }
  return null;
}

function linkInMember(name: string, holder: Holder, isList: boolean): string | null {
  const member = holder.fields[name];
  const isNamed = refersToAccount(name, member, holder);
  const found = isNamed ? suffixOf(name, member) : accountLinkIn(member, isList ? holder.place : name);
  if (found === null) return null;
  return isList ? `[${name}]${found}` : `.${name}${found}`;
}

function refersToAccount(name: string, value: unknown, holder: Holder): boolean {
  if (typeof value === 'string') return isReference(name, value, holder);
  if (typeof value !== 'object' || value === null) return false;
  if (OPENED.has(name)) return Object.keys(value).length > 0;
  if (isNamedById(name, value as JsonObject)) return true;
  return ID_MEMBERS.has(name) && Array.isArray(value) && value.some(isName);
}

/** An earlier picture is named by its id, unless its bytes are sent along. */
function isNamedById(name: string, { id, type, result }: JsonObject): boolean {
  if (!isName(id)) return false;
  return NAMED_BY_ID.has(name) || (type === 'image_generation_call' && !isName(result));
}

function isReference(name: string, value: string, holder: Holder): boolean {
  if (ID_MEMBERS.has(name)) return value !== '' && !(SKILL.has(name) && isOfPublicSkill(holder));
  if (isTextMember(name, holder)) return FILE_IN_TEXT.test(value);
  return ((isLinkMember(name) || BYTES.has(name)) && GOOGLE_FILE_NAME.test(value)) || isAccountLink(value);
}

function isOfPublicSkill({ fields, place }: Holder): boolean {
  return place === 'skills' && fields['type'] === PUBLIC_SKILLS;
}

function isAccountLink(value: string): boolean {
  if (value.length > LONGEST_LINK) return false;
  const head = linkHeadOf(value);
  if (head === null) return false;
  return isCloudStorage(head) || (head.host !== '' && isGoogleFile(value, head));
}

/** Recognizes the link in any spelling: the URL parser normalizes ports, spaces, backslashes and upper case. */
function isGoogleFile(link: string, head: LinkHead): boolean {
  const hostname = placeOf(head)?.hostname.replace(/\.+$/, '') ?? '';
  if (!GOOGLE_HOST.test(hostname)) return false;
  return decoded(parseLink(link.trim())?.pathname ?? '')
    .toLowerCase()
    .split('/')
    .includes('files');
}

function decoded(path: string): string {
  return path.replaceAll(/%([0-9a-f]{2})/gi, (_all, byte: string) => String.fromCharCode(Number.parseInt(byte, 16)));
}

/** Returns the path suffix of the invalid field: `id` for an object that is named by its id. */
function suffixOf(name: string, value: unknown): string {
  return isObject(value) && isNamedById(name, value) ? '.id' : '';
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** Returns the requirement for a request that names an object in the provider's account. */
export function ownAccountNeed(member: string): EndpointNeed {
  const message = `${member} names something in the account of the provider, which needs a provider key of your own`;
  return { member, message, isMetBy: (_endpoint, credential) => credential !== null };
}
