import { memberStep } from './member-path';
import { isPlainObject } from './well-formed';

/** Returns what is wrong with a value, beginning with the path inside it, or null. */
export type MemberCheck = (value: unknown) => string | null;

/** Checks the named fields of an object. Absent and null fields pass; other fields are not checked. */
export function findMembersProblem(value: unknown, checks: Readonly<Record<string, MemberCheck>>): string | null {
  if (!isPlainObject(value)) return ' must be an object';
  for (const [name, check] of Object.entries(checks)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    const problem = member === undefined || member === null ? null : check(member);
    if (problem !== null) return `.${name}${problem}`;
  }
  return null;
}

/** Returns the problem of an unknown field, by name, or null: a misspelled rule would forbid nothing. */
export function findUnknownMember(object: Readonly<Record<string, unknown>>, known: readonly string[]): string | null {
  const name = Object.keys(object).find((given) => !known.includes(given));
  return name === undefined ? null : `${memberStep(name)} is not a member of this object`;
}

/** Checks every element of an array of `least` to `most`. */
export function findElementsProblem(value: unknown, least: number, most: number, check: MemberCheck): string | null {
  if (!Array.isArray(value) || value.length < least || value.length > most) {
    return ` must be an array of ${least} to ${most} elements`;
  }
  for (let index = 0; index < value.length; index += 1) {
    const problem = check(value[index]);
    if (problem !== null) return `[${index}]${problem}`;
  }
  return null;
}

export function oneOf(...allowed: readonly unknown[]): MemberCheck {
  return (value) => (allowed.includes(value) ? null : ` must be one of ${allowed.join(', ')}`);
}

export const isBoolean: MemberCheck = (value) => (typeof value === 'boolean' ? null : ' must be a boolean');

export function wholeNumber(least: number, most: number): MemberCheck {
  const fits = (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
  return (value) => (fits(value) ? null : ` must be a whole number from ${least} to ${most}`);
}

/** Text of `least` to `most` code points. */
export function text(least: number, most: number): MemberCheck {
  return (value) => {
    const fits = typeof value === 'string' && isLength(value, least, most);
    return fits ? null : ` must be text of ${least} to ${most} characters`;
  };
}

/**
 * A value of a list that providers extend. An unknown one is passed on to a provider with the caller's API; a
 * translation leaves it out and reports it, or refuses it.
 */
export const isWord: MemberCheck = text(1, 64);

/** Returns whether a text has this many code points; those outside the basic plane are two units of a string. */
export function isLength(value: string, least: number, most: number): boolean {
  if (value.length > most * 2) return false;
  const length = value.length <= most ? value.length : [...value].length;
  return length >= least && length <= most;
}
