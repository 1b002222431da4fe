import { ValidateBy, type ValidationArguments, type ValidationOptions } from 'class-validator';

/**
 * Returns what is wrong with a value, beginning with the path inside the field (`[3].role must be …`), or null.
 * `siblings` is the object that contains the field.
 */
export type FindProblem = (value: unknown, siblings: Readonly<Record<string, unknown>>) => string | null;

/**
 * Validates a nested field by one plain function. Long message lists are validated on every call, and one pass over the
 * plain object costs a tenth of an instance with its own metadata per element.
 */
export function IsWellFormed(findProblem: FindProblem, options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isWellFormed',
      validator: {
        validate: (value, args) => findProblem(value, siblingsOf(args)) === null,
        defaultMessage: (args) => `${args?.property ?? ''}${findProblem(args?.value, siblingsOf(args)) ?? ''}`,
      },
    },
    options,
  );
}

/** Says `problem` of every value but null. */
export function isNull(problem: string): FindProblem {
  return (value) => (value === undefined || value === null ? null : problem);
}

function siblingsOf(args: ValidationArguments | undefined): Readonly<Record<string, unknown>> {
  return (args?.object ?? {}) as Readonly<Record<string, unknown>>;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
