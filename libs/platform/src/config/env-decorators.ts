import { Secret } from '@libs/contracts';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import ipaddr from 'ipaddr.js';

/**
 * Decorators for the fields of env classes. Each reads the text of a variable, and each failure says what is expected
 * without repeating the value. A text that cannot be read stays a text and fails.
 */

/** A whole number in plain decimal digits: `1e3`, `0x10`, `+5` and `1.5` are refused. */
export function Int(range: { min: number; max: number }): PropertyDecorator {
  return member({
    expected: `a whole number from ${range.min} to ${range.max}`,
    read: (text) => (/^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text),
    accept: (value) => Number.isInteger(value) && (value as number) >= range.min && (value as number) <= range.max,
  });
}

/** A TCP port; 0 means any free one. */
export function Port(): PropertyDecorator {
  return Int({ min: 0, max: 65_535 });
}

/** `true` or `false`. */
export function Bool(): PropertyDecorator {
  return member({
    expected: 'true or false',
    read: (text) => (text === 'true' ? true : text === 'false' ? false : text),
    accept: (value) => typeof value === 'boolean',
  });
}

export function OneOf(values: readonly string[]): PropertyDecorator {
  return member({ expected: `one of ${values.join(', ')}`, accept: (value) => values.includes(value as string) });
}

/** Some of the values, between commas. */
export function SomeOf(values: readonly string[]): PropertyDecorator {
  return member({
    expected: `some of ${values.join(', ')} between commas`,
    read: (text) => text.split(',').map((item) => item.trim()),
    accept: (value) => Array.isArray(value) && value.every((item) => values.includes(String(item))),
  });
}

/** A text; `expected` completes the sentence "NAME must be …". */
export function Text(rule: { expected: string; pattern?: RegExp; maxLength?: number }): PropertyDecorator {
  return member({ expected: rule.expected, accept: (value) => typeof value === 'string' && fits(value, rule) });
}

/** Comma-separated address ranges, each as `10.0.0.0/8` or `fd00::/8`. */
export function CidrList(): PropertyDecorator {
  return member({
    expected: 'address ranges such as 10.0.0.0/8 between commas, at most 64',
    read: (text) => text.split(',').map((item) => item.trim()),
    accept: (value) =>
      Array.isArray(value) && value.length <= 64 && value.every((item) => ipaddr.isValidCIDR(String(item))),
  });
}

/** A URL without secrets; the allowed schemes are given without the colon, such as `https`. */
export function PublicUrl(schemes: readonly string[]): PropertyDecorator {
  return member({
    expected: `a URL starting with ${listSchemes(schemes)}, without user and password`,
    accept: (value) => typeof value === 'string' && isUrl(value, schemes) && !/^[^/]*\/\/[^/?#]*@/.test(value),
  });
}

/** A URL that may contain a password, stored in a `Secret`. */
export function SecretUrl(schemes: readonly string[]): PropertyDecorator {
  return secretMember(`a URL with a host, starting with ${listSchemes(schemes)}`, (text) => isUrl(text, schemes));
}

/** A text kept in a `Secret`. */
export function SecretText(rule: { expected: string; pattern?: RegExp; maxLength?: number }): PropertyDecorator {
  return secretMember(rule.expected, (text) => fits(text, rule));
}

interface MemberRule {
  readonly expected: string;
  readonly read?: (text: string) => unknown;
  readonly accept: (value: unknown) => boolean;
}

function member({ expected, read, accept }: MemberRule): PropertyDecorator {
  const validate = ValidateBy({
    name: 'env',
    validator: { validate: accept, defaultMessage: () => `$property must be ${expected}` },
  });
  const transform =
    read && Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? read(value) : value));
  return (target, name) => {
    validate(target, name);
    transform?.(target, name);
  };
}

function secretMember(expected: string, accept: (text: string) => boolean): PropertyDecorator {
  return member({
    expected,
    read: (text) => new Secret(text),
    accept: (value) => value instanceof Secret && accept(value.reveal()),
  });
}

const DEFAULT_MAX_LENGTH = 4_096;

function fits(
  text: string,
  { pattern, maxLength = DEFAULT_MAX_LENGTH }: { pattern?: RegExp; maxLength?: number },
): boolean {
  return text.length <= maxLength && (!pattern || pattern.test(text));
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && url.hostname !== '' && schemes.includes(url.protocol.slice(0, -1));
}

function listSchemes(schemes: readonly string[]): string {
  return schemes.map((scheme) => `${scheme}://`).join(' or ');
}
