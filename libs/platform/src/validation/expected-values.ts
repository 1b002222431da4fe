import type { Check, Metadata } from './check';

/** Returns the argument of another check of the same field; undefined if the field has no such check. */
type ArgumentOf = (name: string, index?: number) => unknown;

/**
 * What the checks of class-validator allow, as it follows "must". Checks of one value are put together, so that a
 * number out of bounds and a text in its place are answered with the same words.
 */
const EXPECTED: Readonly<Record<string, (argumentOf: ArgumentOf) => string>> = {
  isNumber: numberOf,
  isInt: numberOf,
  isPositive: numberOf,
  min: numberOf,
  max: numberOf,
  isString: stringOf,
  isLength: stringOf,
  minLength: stringOf,
  maxLength: stringOf,
  isArray: arrayOf,
  arrayMinSize: arrayOf,
  arrayMaxSize: arrayOf,
  arrayUnique: () => 'have no element twice',
  isBoolean: () => 'be a boolean',
  isObject: () => 'be an object',
  isUuid: () => 'be a UUID',
  isIn: (argumentOf) => oneOf(argumentOf('isIn') as readonly unknown[]),
  matches: (argumentOf) => `match ${(argumentOf('matches') as RegExp).source}`,
};

/** Returns what follows "must" for a check that has no message of its own; null for other checks. */
export function expectedOf({ name, each }: Metadata, checks: readonly Check[]): string | null {
  const expected = name === undefined || !Object.hasOwn(EXPECTED, name) ? undefined : EXPECTED[name];
  const argumentOf: ArgumentOf = (wanted, index = 0) => {
    const found = checks.find(({ metadata }) => metadata.name === wanted && metadata.each === each);
    return found === undefined ? undefined : (found.metadata.constraints?.[index] ?? null);
  };
  return expected?.(argumentOf) ?? null;
}

function numberOf(argumentOf: ArgumentOf): string {
  const kind = argumentOf('isInt') === undefined ? 'a number' : 'a whole number';
  if (argumentOf('isPositive') !== undefined) return `be ${kind} above 0`;
  return `be ${kind}${boundsOf(argumentOf('min'), argumentOf('max'), ['from', ''])}`;
}

function stringOf(argumentOf: ArgumentOf): string {
  const least = argumentOf('minLength') ?? argumentOf('isLength');
  const most = argumentOf('maxLength') ?? argumentOf('isLength', 1);
  return `be a string${boundsOf(least, most, ['of', ' character'])}`;
}

function arrayOf(argumentOf: ArgumentOf): string {
  return `be an array${boundsOf(argumentOf('arrayMinSize'), argumentOf('arrayMaxSize'), ['of', ' element'])}`;
}

/** Returns ` of 1 to 5 elements`, or the one bound that exists; empty if there is none. */
function boundsOf(least: unknown, most: unknown, [word, unit]: readonly [string, string]): string {
  const [from, to] = [textOf(least), textOf(most)];
  if (from === null && to === null) return '';
  const ending = unit === '' || (to ?? from) === '1' ? unit : `${unit}s`;
  if (from === null) return ` of at most ${to}${ending}`;
  if (to === null) return ` of at least ${from}${ending}`;
  return from === to ? ` of ${to}${ending}` : ` ${word} ${from} to ${to}${ending}`;
}

function textOf(bound: unknown): string | null {
  return typeof bound === 'number' ? String(bound) : null;
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? `be ${String(values[0])}` : `be one of ${values.join(', ')}`;
}
