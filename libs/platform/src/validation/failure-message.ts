import { sentValue } from '@libs/contracts';
import type { ValidationArguments } from 'class-validator';
import { expectedOf } from './expected-values';
import type { Check } from './check';

/** Follows the path of an unknown field in messages, here and in checks of whole objects. */
export const NO_MEMBER = ' is not a member of this object';

/** A value that was refused, with the field that holds it. */
export interface RefusedValue {
  readonly object: object;
  readonly value: unknown;
  readonly path: string;
  /** False: the message does not say what was sent. */
  readonly isShown: boolean;
}

/**
 * Returns the message for a field that a check refuses: its path, what is allowed, and what was sent if that is no
 * secret: `temperature must be a number from 0 to 2 (it is 3)`.
 * @param checks all checks of the field, which say together what is allowed
 */
export function failureMessage(refused: RefusedValue, failing: Check, checks: readonly Check[]): string {
  const element = elementOf(refused, failing);
  const args = argumentsOf(element, failing, element.path);
  const message = wordsOf(args, failing, checks);
  return message + sentWith(message, element);
}

export function argumentsOf(
  { object, value }: Pick<RefusedValue, 'object' | 'value'>,
  { metadata, targetName }: Check,
  property: string,
): ValidationArguments {
  return { targetName, property, object, value, constraints: metadata.constraints ?? [] };
}

/** Returns the first element that the check refuses, if it checks elements; else the value itself. */
function elementOf(refused: RefusedValue, failing: Check): RefusedValue {
  const { value, path } = refused;
  if (!failing.metadata.each || !Array.isArray(value)) return refused;
  const args = argumentsOf(refused, failing, path);
  const at = value.findIndex((element: unknown) => failing.constraint.validate(element, args) !== true);
  return { ...refused, value: value[at], path: `${path}[${at}]` };
}

function wordsOf(args: ValidationArguments, { metadata, constraint }: Check, checks: readonly Check[]): string {
  const { message } = metadata;
  if (!message) {
    const expected = expectedOf(metadata, checks);
    if (expected !== null) return `${args.property} must ${expected}`;
  }
  const template =
    typeof message === 'function'
      ? message(args)
      : message || constraint.defaultMessage?.(args) || '$property is not valid';
  return template
    .replace(/^each value in /, '')
    .replaceAll('$property', () => args.property)
    .replaceAll('$value', () => 'the value');
}

/** Returns what was sent, in parentheses; empty if the message is about a field that is absent or unknown. */
function sentWith(message: string, { value, path, isShown }: RefusedValue): string {
  if (!isShown || message.endsWith(NO_MEMBER) || message.endsWith(' is required')) return '';
  const [inner = ''] = message.startsWith(path)
    ? (/^(?:\.[\w-]+|\[\d+\])*(?= )/.exec(message.slice(path.length)) ?? [])
    : [];
  return sentValue(path + inner, valueAt(value, inner));
}

function valueAt(value: unknown, path: string): unknown {
  return (path.match(/[\w-]+/g) ?? []).reduce<unknown>((parent, name) => {
    const isParent = typeof parent === 'object' && parent !== null && Object.hasOwn(parent, name);
    return isParent ? (parent as Readonly<Record<string, unknown>>)[name] : undefined;
  }, value);
}
