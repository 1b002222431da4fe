import { isCloudStorageLink } from '@libs/contracts';
import { isObject } from '../dialects/loose-values';
import type { EndpointNeed } from './route-request';

/**
 * Members whose values name something that lies in the account that calls the provider. On shared capacity that
 * is the operator's account, which all tenants have in common.
 */
const ID_MEMBERS: ReadonlySet<string> = new Set([
  'file_id',
  'file_ids',
  'vector_store_ids',
  'container',
  'container_id',
  'cached_content',
  'cachedContent',
]);
/** Members of a request that may hold such names, at any depth. */
const SEARCHED = [
  'messages',
  'input',
  'system',
  'tools',
  'prompt',
  'container',
  'cached_content',
  'cachedContent',
] as const;
/** Members that name something by the `id` of an object. */
const NAMED_BY_ID: ReadonlySet<string> = new Set(['container', 'prompt']);
/** What a caller's own functions are given and described by: its words mean nothing to a provider. */
const CALLERS_OWN: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'function', 'arguments', 'metadata']);
const OWN_INPUTS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);
/** Members that hold links. */
const LINK_MEMBERS: ReadonlySet<string> = new Set([
  'url',
  'image_url',
  'video_url',
  'audio_url',
  'file_url',
  'document_url',
  'input_video',
  'file_data',
  'data',
]);
const LONGEST_LINK = 8_192;
/** A file of Google's file API, by its name or its address. */
const GOOGLE_FILE = /^(?:files\/|https?:\/\/[^/]*googleapis\.com\/(?:[^?#]*\/)?files\/)/i;

/** Returns the path of the first member that names something in the provider's account; null where none does. */
export function accountReferenceIn(body: Readonly<Record<string, unknown>>): string | null {
  for (const member of SEARCHED) {
    const value = body[member];
    if (value === undefined || value === null) continue;
    const found = refersToAccount(member, value) ? suffixOf(value) : searchIn(value);
    if (found !== null) return `${member}${found}`;
  }
  return optionReferenceIn(body);
}

/** The same in `provider.options`, whose members are the providers' own: any of them may hold a link. */
function optionReferenceIn({ provider }: Readonly<Record<string, unknown>>): string | null {
  const options = isObject(provider) ? provider['options'] : undefined;
  const found = options === undefined || options === null ? null : accountLinkIn(options);
  return found === null ? null : `provider.options${found}`;
}

function accountLinkIn(value: unknown): string | null {
  if (isAccountLink(value)) return '';
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const found = accountLinkIn(member);
    if (found !== null) return Array.isArray(value) ? `[${name}]${found}` : `.${name}${found}`;
  }
  return null;
}

/** The rest of the path, or null. The depth of a body is bounded where it is parsed. */
function searchIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = searchIn(value[index]);
      if (found !== null) return `[${index}]${found}`;
    }
    return null;
  }
  return searchMembers(value as Readonly<Record<string, unknown>>);
}

function searchMembers(object: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(object)) {
    if (CALLERS_OWN.has(name) || (name === 'input' && OWN_INPUTS.has(object['type']))) continue;
    const found = refersToAccount(name, value) ? suffixOf(value) : searchIn(value);
    if (found !== null) return `.${name}${found}`;
  }
  return null;
}

function refersToAccount(name: string, value: unknown): boolean {
  if (NAMED_BY_ID.has(name) && isObject(value) && isName(value['id'])) return true;
  if (ID_MEMBERS.has(name)) return isName(value) || (Array.isArray(value) && value.some(isName));
  return LINK_MEMBERS.has(name) && isAccountLink(value);
}

function isAccountLink(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > LONGEST_LINK) return false;
  return GOOGLE_FILE.test(value) || isCloudStorageLink(value);
}

/** An object that is named by its id is at fault in that member. */
function suffixOf(value: unknown): string {
  return isObject(value) ? '.id' : '';
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** What an endpoint must have for a request that names something in the provider's account. */
export function ownAccountNeed(member: string): EndpointNeed {
  const message = `${member} names something in the account of the provider, which needs a provider key of your own`;
  return { member, message, isMetBy: (_endpoint, credential) => credential !== null };
}
