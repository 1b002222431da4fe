import type { Kind } from './catalogue-document';

/** The kinds of scalars in a catalogue file: each function makes one. */

function text(expected: string, pattern: RegExp, maxLength = 300): Kind<string> {
  return {
    expected,
    blank: '',
    accepts: (value): value is string => typeof value === 'string' && value.length <= maxLength && pattern.test(value),
  };
}

function integer(expected: string, least: number): Kind<number> {
  return {
    expected,
    blank: least,
    accepts: (value): value is number => Number.isSafeInteger(value) && (value as number) >= least,
  };
}

export function oneOf<T extends string>(values: readonly T[]): Kind<T> {
  return {
    expected: `one of ${values.join(', ')}`,
    blank: values[0]!,
    accepts: (value): value is T => values.some((each) => each === value),
  };
}

export const NAME = text('text of 1 to 300 characters without control characters', /^[^\p{Cc}]+$/u);
export const PROSE = text('text of at most 10000 characters', /^/, 10_000);
export const PROVIDER_SLUG = text(
  'a slug: lower-case letters, digits and . _ - in parts divided by /',
  /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/,
);
export const MODEL_SLUG = text(
  'a slug <vendor>/<model> that does not end in :batch',
  /^~?[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)+(:(?!batch$)[a-z0-9-]+)?$/,
);
export const MODEL_ALIAS = text(
  'a name such as gpt-4o or <vendor>/<model> that does not end in :batch',
  /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*(:(?!batch$)[a-z0-9-]+)?$/,
);
export const HUGGING_FACE_ID = text(
  'a name of Hugging Face such as gpt2 or <owner>/<model>',
  /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/,
);
export const WORD = text('one word of letters, digits and . _ -', /^[A-Za-z0-9][\w.-]*$/);
export const ENV_NAME = text('the name of an environment variable', /^[A-Za-z_]\w*$/);
export const HEADER_VALUE = text('text of one line', /^[\t\x20-\x7e\x80-\xff]*$/, 4_000);
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

/** A host name, or all names one level below a domain of at least two labels. Either may have a port. */
export const HOST_PATTERN = text(
  'a host name in lower case such as ai.example.com or *.example.com, with a port or without',
  /^(?:\*\.(?=[^.:]+\.))?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::\d{1,5})?$/,
);

export const DAY = text('a day such as 2025-01-31', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/);

export const FLAG: Kind<boolean> = {
  expected: 'true or false',
  blank: false,
  accepts: (value): value is boolean => typeof value === 'boolean',
};

export const NUMBER: Kind<number> = {
  expected: 'a number',
  blank: 0,
  accepts: (value): value is number => typeof value === 'number' && Number.isFinite(value),
};

export const COUNT = integer('an integer of at least 0', 0);
export const POSITIVE = integer('an integer of at least 1', 1);

export const WEB_URL: Kind<string> = {
  expected: 'an http or https URL without login, query or fragment',
  blank: '',
  accepts: (value): value is string => {
    if (typeof value !== 'string' || !URL.canParse(value) || /[\s?#]/.test(value)) return false;
    const url = new URL(value);
    return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  },
};

export const BATCH = oneOf(['managed', 'native', 'none']);

export const BATCH_CACHE_READS = oneOf(['half', 'full', 'uncached']);
