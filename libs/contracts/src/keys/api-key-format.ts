import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * The form of a key: `sk-<service>-v1-` + 43 base62 characters (over 255 random bits) + 6 base62 characters of CRC-32
 * over all characters before them. A management key has `mgmt-` after the prefix.
 *
 * The checksum is not secret: with it, mistyped or invented keys are refused without a database query, and scanners
 * recognize real keys. Keys of an earlier SERVICE_NAME stay valid.
 */
export type ApiKeyKind = 'api' | 'management';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PATTERN = /^sk-[a-z0-9-]{1,40}-v1-(mgmt-)?[0-9A-Za-z]{49}$/;

export function mintApiKey(serviceName: string, kind: ApiKeyKind): string {
  const head = `sk-${serviceName}-v1-${kind === 'management' ? 'mgmt-' : ''}${randomBase62(SECRET_LENGTH)}`;
  return head + checksum(head);
}

/** Returns the kind that a well-formed key claims to be, or null for text that is not of this format. */
export function readApiKeyKind(key: string): ApiKeyKind | null {
  const match = PATTERN.exec(key);
  if (!match) return null;
  const head = key.slice(0, -CHECKSUM_LENGTH);
  if (checksum(head) !== key.slice(-CHECKSUM_LENGTH)) return null;
  return match[1] === undefined ? 'api' : 'management';
}

/** SHA-256 of the key, 64 lower-case hex characters: its public identifier, never accepted as a credential. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Returns a label of a key for lists: enough to recognize the key, not enough to use it. */
export function labelApiKey(key: string): string {
  const prefix = key.slice(0, key.length - SECRET_LENGTH - CHECKSUM_LENGTH);
  return `${prefix}${key.slice(prefix.length, prefix.length + 3)}...${key.slice(-3)}`;
}

function checksum(head: string): string {
  let rest = crc32(head);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Random base62 text without modulo bias: bytes past the last whole multiple of 62 are thrown away. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}
