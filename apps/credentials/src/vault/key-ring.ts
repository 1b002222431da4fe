import { isManagedKeyName, parseManagedKeyName, type ManagedKeyName } from '../key-services/managed-key-name';

const MAX_KEYS = 16;
const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/** A key-encryption key that `CREDENTIALS_KEYRING` holds itself. */
export interface RingKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** A key-encryption key of `CREDENTIALS_KEYRING`: itself, or the name of one in a key management service. */
export type RingEntry = RingKey | ManagedKeyName;

export function isRingKey(entry: RingEntry): entry is RingKey {
  return 'key' in entry;
}

/**
 * Parses a list of keys, each `id:base64(32 bytes)` or the name of a managed one. The first is the current key; the
 * others only decrypt older data.
 * @throws Error that says what is wrong and never shows any of the text
 */
export function parseKeyRing(text: string): readonly [RingEntry, ...RingEntry[]] {
  const [first, ...rest] = text.split(',').map((entry) => parseEntry(entry.trim()));
  if (rest.length >= MAX_KEYS) throw new Error(`it has more than ${MAX_KEYS} keys`);
  const keys: [RingEntry, ...RingEntry[]] = [first!, ...rest];
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('two keys have the same id');
  const own = keys.filter(isRingKey).map(({ key }) => key.toString('hex'));
  if (new Set(own).size < own.length) throw new Error('two ids have the same key');
  return keys;
}

function parseEntry(entry: string): RingEntry {
  if (isManagedKeyName(entry)) return parseManagedKeyName(entry);
  const colon = entry.indexOf(':');
  const [id, encoded] = [entry.slice(0, Math.max(0, colon)), entry.slice(colon + 1)];
  if (!KEY_ID.test(id)) throw new Error('an id is not 1 to 64 letters, digits and . _ -');
  const key = Buffer.from(encoded, 'base64');
  // The decoder ignores invalid characters and left-over bits; both are errors here.
  if (!BASE64.test(encoded) || key.toString('base64') !== encoded || key.length !== KEY_BYTES) {
    throw new Error('a key is not 32 bytes in base64');
  }
  return { id, key };
}
