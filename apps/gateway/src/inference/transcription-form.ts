import { AppError } from '@libs/errors';
import { parseJsonObject } from '../http/parse-json';

/** Members that a form may say several times, under their names with or without `[]`. */
const LISTS: ReadonlySet<string> = new Set(['timestamp_granularities', 'keyterms']);
const NUMBERS: ReadonlySet<string> = new Set(['temperature']);
const FLAGS: ReadonlySet<string> = new Set(['diarize', 'stream']);
const OBJECTS: ReadonlySet<string> = new Set(['provider', 'trace']);
const TEXTS: ReadonlySet<string> = new Set(['model', 'language', 'response_format', 'session_id', 'user']);

const NUMBER = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,16})?$/;
const NAME = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;

/**
 * The fields of a form as the members that JSON would have: everything in a form is text. Fields that mean
 * nothing here, such as `prompt`, are passed over; a field that is left empty is absent.
 */
export class TranscriptionForm {
  readonly #members: Record<string, unknown> = {};
  readonly #lists = new Map<string, string[]>();

  /** @throws AppError invalid_request naming the field */
  add(field: string, value: string): void {
    const [, name = '', brackets = ''] = NAME.exec(field) ?? [];
    if (LISTS.has(name) && (brackets === '' || brackets === '[]')) this.#addToList(name, value);
    else if (brackets !== '' && isKnown(name)) throw refused(name, 'is given in brackets');
    else if (isKnown(name)) this.#set(name, value);
  }

  toBody(): Readonly<Record<string, unknown>> {
    return { ...this.#members, ...Object.fromEntries(this.#lists) };
  }

  #addToList(name: string, value: string): void {
    const list = this.#lists.get(name) ?? [];
    this.#lists.set(name, list);
    list.push(...(value.startsWith('[') ? elementsOf(name, value) : [value]));
  }

  #set(name: string, value: string): void {
    if (Object.hasOwn(this.#members, name)) throw refused(name, 'is given more than once');
    this.#members[name] = value === '' && name !== 'model' ? undefined : valueOf(name, value);
  }
}

function isKnown(name: string): boolean {
  return TEXTS.has(name) || NUMBERS.has(name) || FLAGS.has(name) || OBJECTS.has(name) || LISTS.has(name);
}

/** What is no number and no flag stays text, which the check of the members then refuses by name. */
function valueOf(name: string, value: string): unknown {
  if (NUMBERS.has(name)) return NUMBER.test(value) ? Number(value) : value;
  if (FLAGS.has(name)) return value === 'true' ? true : value === 'false' ? false : value;
  return OBJECTS.has(name) ? objectOf(name, value) : value;
}

function objectOf(name: string, value: string): object {
  try {
    return parseJsonObject(Buffer.from(value), 'strict');
  } catch (error) {
    throw refused(name, 'must be a JSON object', error);
  }
}

/** A whole list in one field. */
function elementsOf(name: string, value: string): string[] {
  const { list } = objectOf(name, `{"list":${value}}`) as { list: unknown };
  if (Array.isArray(list) && list.every((element) => typeof element === 'string')) return list;
  throw refused(name, 'must be an array of texts');
}

function refused(name: string, what: string, cause?: unknown): AppError {
  return new AppError('invalid_request', `${name} ${what}`, { metadata: { param: name }, cause });
}
