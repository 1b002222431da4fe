import { isPlainObject } from '../validation/well-formed';
import { findMediaLinkProblem } from './media-links';

/** Members of a part that hold a link, or an object with one. */
const HOLDERS = [
  'image_url',
  'video_url',
  'input_video',
  'input_audio',
  'audio_url',
  'file_url',
  'document_url',
  'file',
  'source',
];
const LINKS = ['url', 'file_url'];
/** Members that hold bytes in base64 or an id; a colon in one makes it a link. */
const BYTES_OR_IDS = ['file_data', 'data', 'file_id'];

/**
 * Checks the links of one content part, whatever API it belongs to: each must lead to a public host or to cloud
 * storage. Data URLs are left to the dialects. Returns the path and the problem, or null.
 */
export function findPartLinkProblem(part: Readonly<Record<string, unknown>>): string | null {
  for (const name of HOLDERS) {
    const holder = part[name];
    const isLink = typeof holder === 'string' && name !== 'source' && name !== 'file';
    const problem = isLink ? findLinkProblem(holder) : isPlainObject(holder) ? findHolderProblem(holder) : null;
    if (problem !== null) return `.${name}${problem}`;
  }
  return findLinkInBytes(part, ['file_id', 'file_data']);
}

function findHolderProblem(holder: Readonly<Record<string, unknown>>): string | null {
  for (const name of LINKS) {
    const link = holder[name];
    const problem = typeof link === 'string' ? findLinkProblem(link) : null;
    if (problem !== null) return `.${name}${problem}`;
  }
  return holder['type'] === 'text' ? null : findLinkInBytes(holder, BYTES_OR_IDS);
}

function findLinkInBytes(holder: Readonly<Record<string, unknown>>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = holder[name];
    const problem =
      typeof value === 'string' && value.slice(0, LONGEST_SCHEME).includes(':') ? findLinkProblem(value) : null;
    if (problem !== null) return `.${name}${problem}`;
  }
  return null;
}

/** Schemes are shorter; base64 need not be searched whole. */
const LONGEST_SCHEME = 256;

function findLinkProblem(link: string): string | null {
  return /^data:/i.test(link) ? null : findMediaLinkProblem(link);
}

/** Checks the address of a server that a provider calls: it must be on a public host, and no file. */
export function findServerUrlProblem(url: unknown): string | null {
  if (url === undefined || url === null) return null;
  const problem = findMediaLinkProblem(url);
  if (problem !== null) return problem;
  return /^\s*https?:/i.test(String(url)) ? null : ' must be an http or https URL';
}
