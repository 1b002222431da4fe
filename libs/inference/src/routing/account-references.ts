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
 * Members whose values name something that lies in the account that calls the provider: files, stores, containers,
 * skills, caches. On shared capacity that is the operator's account, which all tenants have in common.
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
 * Members that name something by the `id` of an object. The `audio` of an earlier answer is none: its random id, which
 * lives for an hour, is known to the caller who got that answer, and conversations by voice need it.
 */
const NAMED_BY_ID = new MemberNames(['container', 'prompt', 'voice']);
/** Members that a provider opens with the rights of the account, whatever is in them. */
const OPENED = new MemberNames(['data_sources']);
/** Skills that the provider itself offers to all customers. */
const PUBLIC_SKILLS = 'anthropic';
const SKILL = new MemberNames(['skill_id']);
const LONGEST_LINK = 8_192;
/** Members with bytes in base64, which some dialects take for a link where they are none. */
const BYTES: ReadonlySet<string> = new Set(['file_data', 'data']);
/** A file of Google's file API by its name. */
const GOOGLE_FILE_NAME = /^\s*files\//i;
const GOOGLE_HOST = /(?:^|\.)googleapis\.com$/;
/** A file of Alibaba Cloud, which its long-context models read where a text begins with it. */
const FILE_IN_TEXT = /^\s*fileid:\/\//i;

/** Returns the path of the first member that names something in the provider's account; null where none does. */
export function accountReferenceIn(body: JsonObject): string | null {
  const found = findInBody(body, (name, value, holder) =>
    refersToAccount(name, value, holder) ? suffixOf(name, value) : null,
  );
  return found === null ? optionReferenceIn(body) : `${found.path}${found.what}`;
}

/** The same in `provider.options`, whose members are the providers' own: any of them may hold a link. */
function optionReferenceIn({ provider }: JsonObject): string | null {
  const options = isObject(provider) ? provider['options'] : undefined;
  const found = options === undefined || options === null ? null : accountLinkIn(options, '');
  return found === null ? null : `provider.options${found}`;
}

/** @param place the name of the member that the value is, or is in the list of */
function accountLinkIn(value: unknown, place: string): string | null {
  if (typeof value === 'string') return isAccountLink(value) || GOOGLE_FILE_NAME.test(value) ? '' : null;
  if (typeof value !== 'object' || value === null) return null;
  const holder = { fields: value as JsonObject, place };
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

/** A picture that was made before is named by its id, unless it comes along. */
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

/** Whatever spelling it has: the parser brings a port, a blank, backslashes and letter case to one form. */
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

/** An object that is named by its id is at fault in that member. */
function suffixOf(name: string, value: unknown): string {
  return isObject(value) && isNamedById(name, value) ? '.id' : '';
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** What an endpoint must have for a request that names something in the provider's account. */
export function ownAccountNeed(member: string): EndpointNeed {
  const message = `${member} names something in the account of the provider, which needs a provider key of your own`;
  return { member, message, isMetBy: (_endpoint, credential) => credential !== null };
}
