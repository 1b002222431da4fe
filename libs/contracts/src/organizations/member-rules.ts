import { ValidateIf, buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/** The field may be absent; null is a value like any other and must pass the field's other rules. */
export function MayBeAbsent(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}

/** One line of visible text, `minLength` to `maxLength` code points, because names are shown in terminals and logs. */
export function IsNameText(minLength: number, maxLength: number, options?: ValidationOptions): PropertyDecorator {
  const allows = (text: string): boolean => text.trim() !== '' && !/\p{Cc}/u.test(text);
  const expected = `text of ${minLength} to ${maxLength} characters without control characters`;
  return textRule('isNameText', { minLength, maxLength, allows, expected }, options);
}

/** Text that PostgreSQL stores without change: no NUL, no lone surrogate, at most `maxLength` code points. */
export function IsStoredText(maxLength: number, options?: ValidationOptions): PropertyDecorator {
  const allows = (text: string): boolean => !text.includes('\u0000');
  const expected = `valid Unicode text of at most ${maxLength} characters without NUL`;
  return textRule('isStoredText', { minLength: 0, maxLength, allows, expected }, options);
}

/**
 * A moment in UTC with its seconds, `YYYY-MM-DDTHH:MM:SS[.fff]Z`, that exists in the calendar, from 1970 on. PostgreSQL
 * has no year 0.
 */
export function IsUtcInstant(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isUtcInstant',
      validator: {
        validate: isUtcInstant,
        defaultMessage: buildMessage(
          (each) => `${each}$property must be an ISO 8601 UTC time with seconds (YYYY-MM-DDTHH:MM:SSZ)`,
          options,
        ),
      },
    },
    options,
  );
}

interface TextRule {
  /** Code points. */
  readonly minLength: number;
  readonly maxLength: number;
  readonly allows: (text: string) => boolean;
  /** What the field must be, for the error message. */
  readonly expected: string;
}

/** In code points. They are counted only if the number of code units, one or two for each, leaves a doubt. */
function isLengthWithin(text: string, min: number, max: number): boolean {
  if (text.length > max * 2) return false;
  if (text.length <= max && text.length >= min * 2) return true;
  const length = [...text].length;
  return length >= min && length <= max;
}

function textRule(
  name: string,
  { minLength, maxLength, allows, expected }: TextRule,
  options?: ValidationOptions,
): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'string' && isLengthWithin(value, minLength, maxLength) && value.isWellFormed() && allows(value);
  const defaultMessage = buildMessage((each) => `${each}$property must be ${expected}`, options);
  return ValidateBy({ name, constraints: [minLength, maxLength], validator: { validate, defaultMessage } }, options);
}

const UTC_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;

function isUtcInstant(value: unknown): boolean {
  if (typeof value !== 'string' || !UTC_INSTANT.test(value)) return false;
  const moment = new Date(value);
  if (moment.getTime() < 0) return false;
  // The parser turns 30 February into 2 March; the text must name an existing day.
  return !Number.isNaN(moment.getTime()) && moment.toISOString().slice(0, 19) === value.slice(0, 19);
}
