/** The part of a secret that is looked for: labels show its ends, and whoever cuts a text may cut a secret. */
const NEEDLE_LENGTH = 24;
const BASE64_ALIGNMENTS = [0, 1, 2] as const;

type Encode = (needle: string) => readonly (Buffer | string)[];

/**
 * The parts of a base64 text that a needle has wherever it is in what was encoded: the characters at both ends
 * also hold bits of its neighbours.
 */
function base64Inside(needle: string, encoding: 'base64' | 'base64url'): string[] {
  return BASE64_ALIGNMENTS.map((before) => {
    const encoded = Buffer.from('\0'.repeat(before) + needle).toString(encoding);
    return encoded.slice(before === 0 ? 0 : before + 1, -4);
  });
}

const escapedBytes = (needle: string, escape: (hex: string) => string): string =>
  [...Buffer.from(needle)].map((byte) => escape(byte.toString(16).padStart(2, '0'))).join('');

const hexOf = (needle: string): string => Buffer.from(needle).toString('hex');

/** How a secret may lie about. */
const ENCODINGS = {
  plain: (needle) => [needle],
  base64: (needle) => base64Inside(needle, 'base64'),
  base64url: (needle) => base64Inside(needle, 'base64url'),
  hex: (needle) => [hexOf(needle), hexOf(needle).toUpperCase()],
  percent: (needle) => [
    encodeURIComponent(needle),
    escapedBytes(needle, (hex) => `%${hex}`),
    escapedBytes(needle, (hex) => `%${hex.toUpperCase()}`),
  ],
  json: (needle) => [
    JSON.stringify(needle).slice(1, -1),
    JSON.stringify(JSON.stringify(needle)).slice(3, -3),
    escapedBytes(needle, (hex) => `\\u00${hex}`),
  ],
  reversed: (needle) => [[...needle].toReversed().join('')],
  utf16le: (needle) => [Buffer.from(needle, 'utf16le')],
  utf16be: (needle) => [Buffer.from(needle, 'utf16le').swap16()],
} satisfies Record<string, Encode>;

export type SecretEncoding = keyof typeof ENCODINGS;
export const SECRET_ENCODINGS = Object.keys(ENCODINGS) as SecretEncoding[];

/** A secret where it must not be. */
export interface Find {
  readonly secret: string;
  readonly place: string;
  readonly encoding: SecretEncoding;
  /** The text before it. */
  readonly after: string;
}

/** Secrets by what they are, and a search for all of them in every spelling that can be thought of. */
export class SecretHunt {
  readonly #secrets = new Map<string, string>();

  /** Gives the secret back. Refuses one so short that it could occur by chance. */
  add(what: string, secret: string): string {
    if (secret.length < NEEDLE_LENGTH) throw new Error(`${what} is too short to be looked for`);
    this.#secrets.set(`${what} #${this.#secrets.size}`, secret);
    return secret;
  }

  get size(): number {
    return this.#secrets.size;
  }

  search(place: string, haystack: Buffer): Find[] {
    return [...this.#secrets].flatMap(([secret, text]) =>
      SECRET_ENCODINGS.flatMap((encoding) => {
        const position = ENCODINGS[encoding](middleOf(text))
          .map((needle) => haystack.indexOf(needle))
          .find((index) => index >= 0);
        if (position === undefined) return [];
        const after = haystack.toString('latin1', Math.max(0, position - 80), position);
        return [{ secret, place, encoding, after }];
      }),
    );
  }
}

/** Whole, as whoever leaks a secret in an encoding would write it, with something before and after it. */
export function encodeSecret(secret: string, encoding: SecretEncoding): Buffer {
  if (encoding === 'base64' || encoding === 'base64url') {
    return Buffer.from(Buffer.from(`;${secret};`).toString(encoding));
  }
  return Buffer.from(ENCODINGS[encoding](secret).at(-1)!);
}

function middleOf(secret: string): string {
  const start = (secret.length - NEEDLE_LENGTH) >> 1;
  return secret.slice(start, start + NEEDLE_LENGTH);
}
