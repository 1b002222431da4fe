/**
 * Estimates tokens of text from the bytes of a JSON string: a finite automaton reads each byte once and adds what a
 * tokenizer of the GPT, Claude or Gemini families takes for such a sequence. Its costs are fitted to two vocabularies
 * of OpenAI; `prompt-estimate.spec.ts` holds them against these. A tokenizer itself can be kept busy for seconds by
 * hostile text, and is 100 times slower on any.
 */
type ByteClass =
  | 'space'
  | 'vowel'
  | 'consonant'
  | 'capital'
  | 'zero'
  | 'digit'
  | 'rule'
  | 'mark'
  | 'backslash'
  | 'accent'
  | 'accent2'
  | 'greek'
  | 'lead2'
  | 'lead2wide'
  | 'lead2rare'
  | 'lead3'
  | 'leadE0'
  | 'leadE1'
  | 'lead3symbol'
  | 'leadEA'
  | 'lead4'
  | 'inner80'
  | 'inner84'
  | 'inner9E'
  | 'inner9F'
  | 'innerA0'
  | 'innerA4'
  | 'innerB0'
  | 'innerB8';

/**
 * What the automaton remembers of the bytes before. `run` is how many bytes of this kind stand in a row, and `hard` how
 * many consonants: texts that are no words (identifiers, base64, noise) have many, and take more tokens.
 */
interface State {
  readonly kind:
    | 'start'
    | 'space'
    | 'word'
    | 'noise'
    | 'capitals'
    | 'digits'
    | 'rule'
    | 'mark'
    | 'line'
    | 'other'
    | 'escape'
    | 'hex'
    | 'afterE0'
    | 'afterE1'
    | 'afterEA'
    | 'after4';
  readonly run: number;
  readonly hard: number;
}

interface Step {
  readonly to: State;
  readonly units: number;
}

const at = (kind: State['kind'], run = 0, hard = 0): State => ({ kind, run, hard });

const LETTERS_OF_A_TOKEN = 7;
/** A longer one is none. */
const LONGEST_WORD = 20;
const MOST_HARD = 3;

/** What each class of byte makes of the state before it; compiled into tables below. */
const RULES: Readonly<Record<ByteClass, (from: State) => Step>> = {
  space: inSpaces,
  vowel: (from) => inWord(from, false),
  consonant: (from) => inWord(from, true),
  capital: inCapitals,
  zero: inDigits,
  digit: inDigits,
  rule: inRule,
  mark: (from) => ({ to: at('mark'), units: from.kind === 'mark' ? 11 : 13 }),
  backslash: (from) => ({ to: at('escape', from.kind === 'line' ? 1 : 0), units: 0 }),
  accent: (from) => plus(inWord(from, false), 5),
  accent2: (from) => plus(inWord(from, false), 12),
  greek: () => other(11),
  lead2: () => other(7),
  lead2wide: () => other(11),
  lead2rare: () => other(20),
  lead3: () => other(16),
  leadE0: () => ({ to: at('afterE0'), units: 16 }),
  leadE1: () => ({ to: at('afterE1'), units: 22 }),
  lead3symbol: () => other(20),
  leadEA: () => ({ to: at('afterEA'), units: 16 }),
  lead4: () => ({ to: at('after4'), units: 36 }),
  inner80: (from) => inCharacter(from, { afterEA: 32, after4: 28 }),
  inner84: (from) => inCharacter(from, { afterE1: 26, afterEA: 32, after4: 28 }),
  inner9E: (from) => inCharacter(from, { afterEA: 32, after4: 28 }),
  inner9F: (from) => inCharacter(from, { afterEA: 32 }),
  innerA0: (from) => inCharacter(from, { afterE0: 32, afterE1: 26, afterEA: 32, after4: 20 }),
  innerA4: (from) => inCharacter(from, { afterE1: 26, afterEA: 32, after4: 20 }),
  innerB0: (from) => inCharacter(from, { afterE1: 26, after4: 20 }),
  innerB8: (from) => inCharacter(from, { after4: 20 }),
};

/** Scripts that vocabularies have next to nothing of, such as runes or cuneiform, show in the second byte. */
function inCharacter(from: State, rare: Readonly<Partial<Record<State['kind'], number>>>): Step {
  return from.kind.startsWith('after') ? other(rare[from.kind] ?? 0) : { to: from, units: 0 };
}

function step(from: State, byte: ByteClass): Step {
  if (from.kind === 'escape') return afterBackslash(from, byte);
  if (from.kind === 'hex') return inHex(from, byte);
  return RULES[byte](from);
}

function other(units: number): Step {
  return { to: at('other'), units };
}

/** One space belongs to the word behind it; indentation is a token of its own. */
function inSpaces(from: State): Step {
  if (from.kind !== 'space') return { to: at('space', 1), units: 0 };
  if (from.run === 1) return { to: at('space', 2), units: 12 };
  return from.run === 16 ? { to: at('space', 2), units: 12 } : { to: at('space', from.run + 1), units: 0 };
}

function inWord(from: State, isConsonant: boolean): Step {
  const hard = isConsonant ? from.hard + 1 : 0;
  switch (from.kind) {
    case 'word':
      return inLongerWord(from.run + 1, hard);
    case 'noise':
      return { to: at('noise', 1 - from.run), units: from.run === 0 ? 0 : 15 };
    // A capital begins the word that follows it; of several, the last.
    case 'capitals':
      return { to: at('word', 2, hard), units: 0 };
    default:
      return { to: at('word', 1, hard), units: 16 };
  }
}

function inLongerWord(run: number, hard: number): Step {
  if (run > LONGEST_WORD) return { to: at('noise'), units: 0 };
  const isBreak = hard === MOST_HARD;
  const units = (isBreak ? 15 : 0) + (run % LETTERS_OF_A_TOKEN === 0 ? 7 : 0);
  return { to: at('word', run, isBreak ? 1 : hard), units };
}

/** Some vocabularies have a token for three digits, others for one. */
function inDigits(from: State): Step {
  if (from.kind !== 'digits') return { to: at('digits', 1), units: 16 };
  return from.run === 2 ? { to: at('digits', 1), units: 12 } : { to: at('digits', 2), units: 0 };
}

/** Characters that are often drawn out to a line. */
function inRule(from: State): Step {
  if (from.kind !== 'rule') return { to: at('rule', 1), units: 14 };
  return from.run === 4 ? { to: at('rule', 1), units: 12 } : { to: at('rule', from.run + 1), units: 0 };
}

function inCapitals(from: State): Step {
  if (from.kind !== 'capitals') return { to: at('capitals', 1), units: 16 };
  return from.run === 2 ? { to: at('capitals', 1), units: 14 } : { to: at('capitals', 2), units: 0 };
}

/** `\n` and its like, `\uXXXX`, or one of the marks that JSON escapes. */
function afterBackslash({ run: isAfterLine }: State, byte: ByteClass): Step {
  if (byte === 'vowel') return { to: at('hex', 4), units: 8 };
  if (byte === 'consonant') return { to: at('line'), units: isAfterLine ? 4 : 14 };
  return { to: at('mark'), units: 11 };
}

/** Alphabets whose code points begin with a zero take fewer tokens than those of Asia and surrogates. */
function inHex({ run }: State, byte: ByteClass): Step {
  return { to: run === 1 ? at('other') : at('hex', run - 1), units: run === 4 && byte !== 'zero' ? 8 : 0 };
}

function plus({ to, units }: Step, more: number): Step {
  return { to, units: units + more };
}

const CLASS_OF_CHARACTERS: readonly (readonly [ByteClass, string])[] = [
  ['space', ' '],
  // `u` is one, which separates `\u` from `\n`, `\r`, `\t`, `\b` and `\f`.
  ['vowel', 'aeiouy'],
  ['consonant', 'bcdfghjklmnpqrstvwxz'],
  ['capital', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'],
  ['zero', '0'],
  ['digit', '123456789'],
  ['rule', '-=*#_.~'],
  ['backslash', '\\'],
];

/** Classes of the first bytes of longer characters, each up to the byte before the next. */
const CLASS_FROM: readonly (readonly [number, ByteClass])[] = [
  [0x80, 'inner80'],
  [0x84, 'inner84'],
  [0x9e, 'inner9E'],
  [0x9f, 'inner9F'],
  [0xa0, 'innerA0'],
  [0xa4, 'innerA4'],
  [0xb0, 'innerB0'],
  [0xb8, 'innerB8'],
  // Latin letters with accents, of the west and of the east of Europe.
  [0xc0, 'accent'],
  [0xc4, 'accent2'],
  // Phonetic letters and marks that combine.
  [0xc6, 'lead2rare'],
  [0xce, 'greek'],
  // Cyrillic.
  [0xd0, 'lead2'],
  // Cyrillic of Asia.
  [0xd2, 'lead2wide'],
  // Armenian.
  [0xd4, 'lead2rare'],
  // Hebrew, Arabic and their neighbours.
  [0xd6, 'lead2wide'],
  // Syriac, Thaana and N'Ko.
  [0xdc, 'lead2rare'],
  // India and South-East Asia.
  [0xe0, 'leadE0'],
  // Georgian, Khmer, Vietnamese and many rare ones.
  [0xe1, 'leadE1'],
  // Punctuation, arrows, mathematics and boxes.
  [0xe2, 'lead3symbol'],
  [0xe3, 'lead3'],
  // Korean, and rare ones below it.
  [0xea, 'leadEA'],
  [0xeb, 'lead3'],
  // Presentation forms.
  [0xef, 'lead3symbol'],
  [0xf0, 'lead4'],
];

function classOfByte(byte: number): ByteClass {
  const group = CLASS_FROM.findLast(([first]) => byte >= first);
  if (group !== undefined) return group[1];
  const character = String.fromCharCode(byte);
  return CLASS_OF_CHARACTERS.find(([, members]) => members.includes(character))?.[0] ?? 'mark';
}

const CLASSES = [...new Set(Array.from({ length: 256 }, (_, byte) => classOfByte(byte)))];
export const CLASS_BITS = Math.ceil(Math.log2(CLASSES.length));
export const CLASS_OF = Uint8Array.from({ length: 256 }, (_, byte) => CLASSES.indexOf(classOfByte(byte)));

/** Each state that can be reached from the start, which is the first, and what each class of byte makes of it. */
function compile(): { readonly next: Uint8Array; readonly units: Uint8Array } {
  const numbers = new Map<string, number>();
  const states: State[] = [];
  const numberOf = (state: State): number => {
    const name = `${state.kind} ${state.run} ${state.hard}`;
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, states.length);
    states.push(state);
    return states.length - 1;
  };
  numberOf(at('start'));
  const next: number[] = [];
  const units: number[] = [];
  for (let number = 0; number < states.length; number += 1) {
    for (const [index, byteClass] of CLASSES.entries()) {
      const taken = step(states[number]!, byteClass);
      next[(number << CLASS_BITS) | index] = numberOf(taken.to);
      units[(number << CLASS_BITS) | index] = taken.units;
    }
  }
  return { next: Uint8Array.from(next, (state) => state ?? 0), units: Uint8Array.from(units, (cost) => cost ?? 0) };
}

/** What each class of byte makes of each state, and what it costs in sixteenths of a token. */
export const TABLES = compile();
