import { classOfByte, tokensOfCharacter, type ByteClass } from './byte-classes';
import { pairUnits } from './letter-pairs';

/**
 * Units per token. Estimates the tokens of text from the bytes of a JSON string: a finite automaton reads each byte
 * once and adds the tokens that tokenizers of GPT, Claude or Gemini need for such a sequence. There are two sums. One
 * is for ordinary text. The other is at least 0.6 of what the larger of two OpenAI vocabularies needs, except for words
 * that `letter-pairs.ts` names; `text-floor.spec.ts` searches for texts with a lower sum. A tokenizer is 100 times
 * slower on any text, and hostile text can keep it busy for seconds.
 */
export const UNITS_PER_TOKEN = 32;

/** Units of a sequence that may be one token: slightly more than 0.6 of `UNITS_PER_TOKEN`. */
const TOKEN = 20;
/** Share of the units that ordinary text needs. */
const USUAL = 0.75;
/** Share of the units that letter pairs in ordinary words need. */
const USUAL_PAIR = 0.62;
/**
 * Usual units of the first letter of a word, which may be a token by itself; the next letter counts less because of it.
 */
const FIRST_LETTER = 26;

/** State of the automaton: what it knows about the previous bytes. */
interface State {
  readonly kind: 'other' | 'space' | 'word' | 'rule' | 'line' | 'escape' | 'hex' | 'character';
  /** Number of consecutive bytes of this kind, up to the largest number that has an effect. */
  readonly run: number;
  /** The last character, or the property of it that decides about the next. */
  readonly last: string;
}

interface Step {
  readonly to: State;
  /** A floor for any text, in units. */
  readonly most: number;
  /** Units in ordinary text, if they differ. */
  readonly usual?: number;
}

const at = (kind: State['kind'], run = 0, last = ''): State => ({ kind, run, last });
const OTHER = at('other');

/** Transitions from a state for each class of byte; compiled into the tables below. */
const RULES: { readonly [K in ByteClass['kind']]: (from: State, byte: ByteClass & { kind: K }) => Step } = {
  space: inSpaces,
  letter: (from, { character }) => inWord(from, character),
  capital: (from) => inWord(from, '^'),
  rule: (from, { character }) => inRule(from, character),
  mark: () => ({ to: OTHER, most: TOKEN }),
  // Some vocabularies have one token for three digits, others one for each digit.
  lone: (from) =>
    from.kind === 'space' ? { to: OTHER, most: 2 * TOKEN } : { to: OTHER, most: TOKEN, usual: USUAL * TOKEN },
  backslash: (from) => ({ to: escapeBehind(from), most: 0 }),
  // A space before the character may be a separate token.
  lead: (from, { byte }) => ({
    to: at('character', 0, String(byte)),
    most: from.kind === 'space' ? TOKEN : 0,
    usual: 0,
  }),
  inner: (from, { byte }) => inCharacter(from, byte),
};

function step(from: State, byte: ByteClass): Step {
  if (from.kind === 'escape') return afterBackslash(from, byte);
  if (from.kind === 'hex') return inHex(from, byte);
  return (RULES[byte.kind] as (from: State, byte: ByteClass) => Step)(from, byte);
}

/** Counts a character by its second byte. Scripts that vocabularies hardly cover, such as runes, need more tokens. */
function inCharacter(from: State, byte: number): Step {
  if (from.kind !== 'character') return { to: from, most: 0 };
  const most = TOKEN * tokensOfCharacter(Number(from.last), byte);
  return { to: OTHER, most, usual: USUAL * most };
}

const SPACES_OF_A_TOKEN = 16;

/** Counts spaces. A single space belongs to the word after it; an indentation is a separate token. */
function inSpaces(from: State): Step {
  if (from.kind !== 'space') return { to: at('space', 1), most: 0 };
  return { to: at('space', (from.run % SPACES_OF_A_TOKEN) + 1), most: from.run % SPACES_OF_A_TOKEN === 1 ? TOKEN : 0 };
}

/** Counts a letter by its position in the word (up to the third) and the letters before it. */
function inWord(from: State, letter: string): Step {
  if (from.kind !== 'word') return { to: at('word', 1, letter), most: TOKEN, usual: FIRST_LETTER };
  const [before, beforeThat = ''] = from.last;
  const most = pairUnits({ place: from.run, isAfterVowel: isVowel(beforeThat), letters: `${before}${letter}` });
  const paid = from.run === 1 ? FIRST_LETTER - USUAL_PAIR * TOKEN : 0;
  const to = at('word', Math.min(from.run + 1, 3), letter + (isVowel(before!) ? 'a' : 'b'));
  return { to, most, usual: Math.max(0, USUAL_PAIR * most - paid) };
}

const isVowel = (letter: string): boolean => letter !== '' && 'aeiouy'.includes(letter);

function inRule(from: State, character: string): Step {
  if (from.kind !== 'rule' || from.last !== character) return { to: at('rule', 1, character), most: TOKEN };
  return { to: from, most: 4 };
}

function escapeBehind({ kind, run, last }: State): State {
  if (kind === 'line') return at('escape', run, last);
  return at('escape', 0, kind === 'space' ? ' ' : '');
}

/** Counts an escape: `\n` and the like, `\uXXXX`, or an escaped mark. */
function afterBackslash({ run, last }: State, byte: ByteClass): Step {
  if (byte.kind !== 'letter') return { to: OTHER, most: TOKEN };
  const { character } = byte;
  const more = last === ' ' ? TOKEN : 0;
  if (character === 'u') return { to: at('hex', 4), most: more };
  const again = (character === last && 'nt'.includes(character)) || (character === 'n' && last === 'r');
  if (!again) return { to: at('line', 1, character), most: TOKEN + more };
  // The last of several tabs is part of the text after it.
  return { to: at('line', 2, character), most: character === 't' && run === 1 ? TOKEN : 8 };
}

/** The code points of most alphabets begin with a zero; lower-case Russian letters are 0430 to 044f. */
function inHex({ run, last }: State, byte: ByteClass): Step {
  if (run > 1) return { to: at('hex', run - 1, scriptOfEscape(last, byte)), most: 0 };
  const most = TOKEN * (TOKENS_OF_ESCAPES[last] ?? 3);
  return { to: OTHER, most, usual: USUAL * most };
}

const TOKENS_OF_ESCAPES: Readonly<Record<string, number>> = { '0-': 2, '043': 1 };

function scriptOfEscape(before: string, byte: ByteClass): string {
  const digit = byte.kind === 'lone' ? byte.character : 'f';
  switch (before) {
    case '':
      return digit === '0' ? '0' : 'f';
    case '0':
      if (digit === '4') return '04';
      return digit === 'f' ? 'f' : '0-';
    case '04':
      return digit === '3' || digit === '4' ? '043' : '0-';
    default:
      return before;
  }
}

const CLASSES: ByteClass[] = [];
const classNumbers = new Map<string, number>();
function numberOfClass(byte: number): number {
  const found = classOfByte(byte);
  const name = JSON.stringify(found);
  const known = classNumbers.get(name);
  if (known !== undefined) return known;
  classNumbers.set(name, CLASSES.length);
  return CLASSES.push(found) - 1;
}

export const CLASS_OF = Uint8Array.from({ length: 256 }, (_, byte) => numberOfClass(byte));
const CLASS_BITS = Math.ceil(Math.log2(CLASSES.length));

/**
 * Compiles every state that is reachable from the start state, which is the first row. For each class of byte, a row
 * has the offset of the next state's row, and both costs in one number, with that of ordinary text in the lower half.
 */
function compile(): { readonly rows: Uint16Array; readonly costs: Int32Array } {
  const numbers = new Map<string, number>();
  const states: State[] = [];
  const numberOf = (state: State): number => {
    const name = `${state.kind} ${state.run} ${state.last}`;
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, states.length);
    return states.push(state) - 1;
  };
  numberOf(OTHER);
  const rows: number[] = [];
  const costs: number[] = [];
  for (let number = 0; number < states.length; number += 1) {
    for (const [index, byteClass] of CLASSES.entries()) {
      const { to, most, usual = most } = step(states[number]!, byteClass);
      rows[(number << CLASS_BITS) | index] = numberOf(to) << CLASS_BITS;
      costs[(number << CLASS_BITS) | index] = (most << 16) | Math.round(usual);
    }
  }
  return { rows: Uint16Array.from(rows, (row) => row ?? 0), costs: Int32Array.from(costs, (cost) => cost ?? 0) };
}

export const TABLES = compile();
