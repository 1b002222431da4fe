/** The classes of bytes in a JSON string that the automaton distinguishes. */
export type ByteClass =
  | { readonly kind: 'space' | 'capital' | 'mark' | 'backslash' }
  | { readonly kind: 'letter' | 'lone' | 'rule'; readonly character: string }
  /** The first byte of a non-ASCII character, and each further one. */
  | { readonly kind: 'lead' | 'inner'; readonly byte: number };

/** Characters that are often repeated to draw a line. */
const RULES = '-=*#_.';
/** Digits and control characters. A space before one of them is a separate token. */
const LONE = /[0-9\p{Cc}]/u;

/** Most tokens of a character by its first byte; `fewer` lists second bytes for which they are less. */
interface Script {
  readonly leads: readonly [first: number, last: number];
  readonly most: number;
  readonly fewer?: readonly (readonly [first: number, last: number, tokens: number])[];
}

/**
 * The most tokens that either of two OpenAI vocabularies has for a character. `text-floor.spec.ts` compares them with
 * the vocabularies.
 */
const SCRIPTS: readonly Script[] = [
  { leads: [0x80, 0xbf], most: 0 },
  { leads: [0xc0, 0xc2], most: 2 },
  // Latin letters of Western Europe; accented capitals need more tokens.
  {
    leads: [0xc3, 0xc3],
    most: 2,
    fewer: [
      [0xa0, 0xb6, 1],
      [0xb8, 0xbd, 1],
    ],
  },
  { leads: [0xc4, 0xcf], most: 2 },
  // Cyrillic: small letters of Russian.
  { leads: [0xd0, 0xd0], most: 2, fewer: [[0xb0, 0xbf, 1]] },
  { leads: [0xd1, 0xd1], most: 2, fewer: [[0x80, 0x8f, 1]] },
  { leads: [0xd2, 0xdf], most: 2 },
  // Scripts of India and South-East Asia, except Oriya, Lao and the rarer half of Tibetan.
  {
    leads: [0xe0, 0xe0],
    most: 3,
    fewer: [
      [0xa4, 0xab, 2],
      [0xae, 0xba, 2],
      [0xbc, 0xbd, 2],
    ],
  },
  // Georgian, Khmer and Vietnamese.
  {
    leads: [0xe1, 0xe1],
    most: 3,
    fewer: [
      [0x83, 0x83, 2],
      [0x9e, 0x9f, 2],
      [0xba, 0xbb, 2],
    ],
  },
  // Punctuation, arrows, mathematics and boxes.
  {
    leads: [0xe2, 0xe2],
    most: 3,
    fewer: [
      [0x80, 0x82, 2],
      [0x84, 0x86, 2],
      [0x88, 0x89, 2],
      [0x94, 0x99, 2],
    ],
  },
  // Kana.
  { leads: [0xe3, 0xe3], most: 3, fewer: [[0x80, 0x83, 2]] },
  // The Chinese characters with the fewest strokes, which are frequent.
  { leads: [0xe4, 0xe4], most: 3, fewer: [[0xb8, 0xbf, 2]] },
  { leads: [0xe5, 0xee], most: 3 },
  // Forms as wide as Chinese characters.
  { leads: [0xef, 0xef], most: 3, fewer: [[0xbc, 0xbf, 2]] },
  // Letters of mathematics, and emoji.
  {
    leads: [0xf0, 0xf0],
    most: 4,
    fewer: [
      [0x9d, 0x9d, 3],
      [0x9f, 0x9f, 3],
    ],
  },
  { leads: [0xf1, 0xff], most: 4 },
];

const scriptOf = (lead: number): Script => SCRIPTS.find(({ leads: [, last] }) => lead <= last)!;

/** Returns the most tokens of a character with these first two bytes. */
export function tokensOfCharacter(lead: number, second: number): number {
  const { most, fewer = [] } = scriptOf(lead);
  return fewer.find(([first, last]) => second >= first && second <= last)?.[2] ?? most;
}

export function classOfByte(byte: number): ByteClass {
  if (byte >= 0xc0) return { kind: 'lead', byte: scriptOf(byte).leads[0] };
  if (byte >= 0x80) return { kind: 'inner', byte: firstLike(byte) };
  return classOfCharacter(String.fromCharCode(byte));
}

function classOfCharacter(character: string): ByteClass {
  if (/[a-z]/.test(character)) return { kind: 'letter', character };
  if (/[A-Z]/.test(character)) return { kind: 'capital' };
  if (LONE.test(character)) return { kind: 'lone', character };
  if (RULES.includes(character)) return { kind: 'rule', character };
  if (character === ' ') return { kind: 'space' };
  return { kind: character === '\\' ? 'backslash' : 'mark' };
}

/** Returns the lowest byte that gives the same tokens as this one, as the second byte of a character in any script. */
function firstLike(byte: number): number {
  const isLike = (other: number): boolean =>
    SCRIPTS.every(({ leads: [lead] }) => tokensOfCharacter(lead, other) === tokensOfCharacter(lead, byte));
  let first = byte;
  while (first > 0x80 && isLike(first - 1)) first -= 1;
  return first;
}
