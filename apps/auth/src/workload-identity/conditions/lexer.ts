import { badCondition } from './bad-condition';

export type Token =
  | { readonly kind: 'name' | 'sign'; readonly text: string; readonly at: number }
  | { readonly kind: 'text'; readonly value: string; readonly at: number }
  | { readonly kind: 'number'; readonly value: number; readonly at: number }
  | { readonly kind: 'end'; readonly at: number };

/** Each pattern matches only at the end of the previous match. */
const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /\d+(?:\.\d+)?/y;
const SIGN = /==|!=|<=|>=|&&|\|\||[<>!()[\].,-]/y;
/** No letter may follow a number: `1u` and `1e9` are other kinds of numbers. */
const LETTER = /[A-Za-z_0-9.]/y;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', "'": "'", '\\': '\\' };
const UNICODE = /u([0-9A-Fa-f]{4})/y;

/** Splits a condition into its words, operators and literals. @throws AppError with the position */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = endOf(SPACE, text, 0) ?? 0;
  while (at < text.length) {
    const [token, end] = tokenAt(text, at);
    tokens.push(token);
    at = endOf(SPACE, text, end) ?? end;
  }
  tokens.push({ kind: 'end', at });
  return tokens;
}

function tokenAt(text: string, at: number): [Token, number] {
  if (text[at] === '"' || text[at] === "'") return textAt(text, at);
  const name = endOf(NAME, text, at);
  if (name !== null) return [{ kind: 'name', text: text.slice(at, name), at }, name];
  const number = endOf(NUMBER, text, at);
  if (number !== null) return [{ kind: 'number', value: numberOf(text, at, number), at }, number];
  const sign = endOf(SIGN, text, at);
  if (sign !== null) return [{ kind: 'sign', text: text.slice(at, sign), at }, sign];
  throw badCondition('has a character that conditions do not use', at);
}

/** Numbers are compared exactly, or not at all. */
function numberOf(text: string, at: number, end: number): number {
  const value = Number(text.slice(at, end));
  const isExact = Number.isSafeInteger(value) || !Number.isInteger(value);
  if (!isExact || endOf(LETTER, text, end) !== null) throw badCondition('has a number in an unknown form', at);
  return value;
}

function textAt(text: string, start: number): [Token, number] {
  const quote = text[start]!;
  let value = '';
  let at = start + 1;
  while (text[at] !== quote) {
    const char = text[at];
    if (char === undefined || char === '\n' || char === '\r') throw badCondition('has a text without an end', start);
    if (char === '\\') {
      const [escaped, end] = escapeAt(text, at + 1);
      value += escaped;
      at = end;
    } else {
      value += char;
      at += 1;
    }
  }
  return [{ kind: 'text', value, at: start }, at + 1];
}

function escapeAt(text: string, at: number): [string, number] {
  const unicode = endOf(UNICODE, text, at);
  if (unicode !== null) return [String.fromCharCode(Number.parseInt(text.slice(at + 1, unicode), 16)), unicode];
  const char = text[at];
  if (char === undefined || !Object.hasOwn(ESCAPES, char)) throw badCondition('has an unknown escape', at - 1);
  return [ESCAPES[char]!, at + 1];
}

function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}
