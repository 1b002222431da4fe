import type { Claims } from '../claims';
import type { Expression, Loop, TextChange, TextTest } from './expression';
import { includesText } from './includes-text';

/** Most steps: evaluated parts, and characters that are compared or searched. They take at most some milliseconds. */
const MOST_STEPS = 250_000;
/** Characters of a text that are compared in one step. */
const CHARACTERS_OF_STEP = 16;
/** Names that are numbers are made into texts each time. */
const STEPS_OF_NAME = 4;

/** A claim is missing, has a type other than the needed one, or is a number that cannot be compared exactly. */
class Unmet extends Error {}
/** A single instance: each new error would record a stack trace. */
const UNMET = new Unmet();
/** Steps that an error costs which `&&` or `||` recovers from, and for each part that it leaves. */
const STEPS_OF_UNMET = 100;
const STEPS_OF_PART_LEFT = 30;

/** The claims need more work than any policy should. Unlike `Unmet`, no `||` gets over it. */
class TooMuchWork extends Error {}

/**
 * Returns whether claims meet a condition. The work is counted in steps, so that it ends after the same work on every
 * machine.
 */
export function isMet(condition: Expression, claims: Claims): boolean {
  try {
    return new Evaluation(claims).of(condition) === true;
  } catch (error) {
    if (error instanceof Unmet || error instanceof TooMuchWork) return false;
    throw error;
  }
}

type Evaluators = {
  readonly [Op in Expression['op']]: (expression: Extract<Expression, { op: Op }>) => unknown;
};
type Pair = Extract<Expression, { left: Expression }>;
type Change = Extract<Expression, { op: TextChange }>;
type Search = Extract<Expression, { op: TextTest }>;
type Round = Extract<Expression, { op: Loop }>;

class Evaluation {
  #left = MOST_STEPS;
  /** Number of nested parts that are being evaluated. */
  #depth = 0;
  #element: unknown = null;
  readonly #evaluators: Evaluators;

  constructor(claims: Claims) {
    const compared = (pair: Pair): boolean => this.#equal(this.of(pair.left), this.of(pair.right));
    const ordered = (pair: Pair): number => exact(this.of(pair.left)) - exact(this.of(pair.right));
    const changed = ({ op, of }: Change): string => this.#changed(op, this.#text(of));
    const searched = ({ op, of, search }: Search): boolean => this.#search(op, this.#text(of), this.#text(search));
    const looped = ({ op, over, body }: Round): unknown => this.#loop(op, this.of(over), body);
    this.#evaluators = {
      literal: ({ value }) => value,
      list: ({ items }) => items.map((item) => this.of(item)),
      claims: () => claims,
      element: () => this.#element,
      member: ({ of, name }) => memberOf(this.of(of), name),
      index: ({ of, index }) => placeOf(this.of(of), this.of(index)),
      has: ({ of, name }) => Object.hasOwn(objectOf(this.of(of)), name),
      size: ({ of }) => this.#size(this.of(of)),
      lowerAscii: changed,
      upperAscii: changed,
      trim: changed,
      not: ({ of }) => !this.#bool(of),
      and: (pair) => this.#joined(pair, false),
      or: (pair) => this.#joined(pair, true),
      '==': compared,
      '!=': (pair) => !compared(pair),
      '<': (pair) => ordered(pair) < 0,
      '<=': (pair) => ordered(pair) <= 0,
      '>': (pair) => ordered(pair) > 0,
      '>=': (pair) => ordered(pair) >= 0,
      in: ({ left, right }) => this.#isIn(this.of(left), this.of(right)),
      startsWith: searched,
      endsWith: searched,
      contains: searched,
      all: looped,
      exists: looped,
      exists_one: looped,
      filter: looped,
    };
  }

  of(expression: Expression): unknown {
    this.#spend(1);
    this.#depth += 1;
    const value = (this.#evaluators[expression.op] as (expression: Expression) => unknown)(expression);
    this.#depth -= 1;
    return value;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork();
  }

  #text(expression: Expression): string {
    const value = this.of(expression);
    if (typeof value !== 'string') throw UNMET;
    return value;
  }

  #bool(expression: Expression): boolean {
    const value = this.of(expression);
    if (typeof value !== 'boolean') throw UNMET;
    return value;
  }

  /** If either side has the deciding value, it decides, even if the other side has none. */
  #joined({ left, right }: { readonly left: Expression; readonly right: Expression }, decides: boolean): boolean {
    const first = this.#attempted(left);
    if (first === decides) return decides;
    const second = this.#bool(right);
    if (second === decides) return decides;
    if (first === null) throw UNMET;
    return !decides;
  }

  /** Returns the value of a part; null if its evaluation throws `Unmet`. */
  #attempted(expression: Expression): boolean | null {
    const depth = this.#depth;
    try {
      return this.#bool(expression);
    } catch (error) {
      if (!(error instanceof Unmet)) throw error;
      this.#spend(STEPS_OF_UNMET + (this.#depth - depth) * STEPS_OF_PART_LEFT);
      this.#depth = depth;
      return null;
    }
  }

  #search(op: TextTest, text: string, search: string): boolean {
    this.#spend(op === 'contains' ? text.length + search.length : search.length);
    if (op === 'contains') return includesText(text, search);
    return op === 'startsWith' ? text.startsWith(search) : text.endsWith(search);
  }

  #changed(op: TextChange, text: string): string {
    this.#spend(text.length);
    if (op === 'trim') return trimmed(text);
    // Letters of other alphabets are not changed: some would become ASCII.
    return op === 'lowerAscii'
      ? text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
      : text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
  }

  #size(value: unknown): number {
    if (Array.isArray(value)) return value.length;
    if (typeof value !== 'string') return this.#namesOf(objectOf(value)).length;
    this.#spend(value.length);
    let characters = 0;
    for (const _ of value) characters += 1;
    return characters;
  }

  #equal(one: unknown, other: unknown): boolean {
    this.#spend(1);
    if (typeof one === 'number' && typeof other === 'number') return exact(one) === exact(other);
    if (typeof one === 'string' && typeof other === 'string') {
      this.#spend(Math.min(one.length, other.length) / CHARACTERS_OF_STEP);
      return one === other;
    }
    if (Array.isArray(one) && Array.isArray(other)) {
      return one.length === other.length && one.every((item, at) => this.#equal(item, other[at]));
    }
    return isObject(one) && isObject(other) ? this.#equalMembers(one, other) : one === other;
  }

  #namesOf(object: Claims): readonly string[] {
    const names = Object.keys(object);
    this.#spend(names.length * STEPS_OF_NAME);
    return names;
  }

  #equalMembers(one: Claims, other: Claims): boolean {
    const names = this.#namesOf(one);
    if (names.length !== this.#namesOf(other).length) return false;
    return names.every((name) => Object.hasOwn(other, name) && this.#equal(one[name], other[name]));
  }

  #isIn(value: unknown, within: unknown): boolean {
    if (Array.isArray(within)) return within.some((item) => this.#equal(value, item));
    const object = objectOf(within);
    if (typeof value !== 'string') throw UNMET;
    return Object.hasOwn(object, value);
  }

  #loop(op: Loop, over: unknown, body: Expression): unknown {
    if (!Array.isArray(over)) throw UNMET;
    const meets = (element: unknown): boolean => {
      this.#element = element;
      return this.#bool(body);
    };
    switch (op) {
      case 'all':
        return over.every(meets);
      case 'exists':
        return over.some(meets);
      case 'filter':
        return over.filter(meets);
      default:
        return over.filter(meets).length === 1;
    }
  }
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Claims {
  if (!isObject(value)) throw UNMET;
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  const object = objectOf(value);
  if (!Object.hasOwn(object, name)) throw UNMET;
  return object[name];
}

function placeOf(value: unknown, index: unknown): unknown {
  if (typeof index === 'string') return memberOf(value, index);
  if (!Array.isArray(value) || typeof index !== 'number' || !(index in value)) throw UNMET;
  return value[index] as unknown;
}

/** White space of Unicode, as in the Common Expression Language. */
const SPACES: ReadonlySet<string> = new Set(
  ' \t\r\n\f\v\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
);

/** Without a regular expression: one for the end of a text takes quadratic time. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACES.has(text[start]!)) start += 1;
  while (end > start && SPACES.has(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

/** Above 2^53, different numbers of a token are parsed as the same. */
function exact(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw UNMET;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw UNMET;
  return value;
}
