const MAX_KEYS = 16;
const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/** A key-encryption key of `CREDENTIALS_KEYRING`. */
export interface RingKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/**
 * The keys of `id:base64(32 bytes)[,…]`; the first is the current one, the others only open what they sealed.
 *
 * @throws Error that says what is wrong and never shows any of the text
 */
export function parseKeyRing(text: string): readonly [RingKey, ...RingKey[]] {
  if (/^[a-z-]+:\/\//.test(text)) throw new Error('key management services cannot be used yet');
  const [first, ...rest] = text.split(',').map((entry) => parseEntry(entry.trim()));
  if (rest.length >= MAX_KEYS) throw new Error(`it has more than ${MAX_KEYS} keys`);
  const keys: [RingKey, ...RingKey[]] = [first!, ...rest];
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('two keys have the same id');
  const bytes = new Set(keys.map(({ key }) => key.toString('hex')));
  if (bytes.size < keys.length) throw new Error('two ids have the same key');
  return keys;
}

function parseEntry(entry: string): RingKey {
  const colon = entry.indexOf(':');
  const [id, encoded] = [entry.slice(0, Math.max(0, colon)), entry.slice(colon + 1)];
  if (!KEY_ID.test(id)) throw new Error('an id is not 1 to 64 letters, digits and . _ -');
  const key = Buffer.from(encoded, 'base64');
  // The decoder passes over what it cannot read and over bits that are left; both are mistakes here.
  if (!BASE64.test(encoded) || key.toString('base64') !== encoded || key.length !== KEY_BYTES) {
    throw new Error('a key is not 32 bytes in base64');
  }
  return { id, key };
}
