import { AppError } from '@libs/errors';
import type { FormFieldKinds } from '@libs/inference';
import { parseJsonObject } from '../http/parse-json';

type Kind = keyof FormFieldKinds;

const NUMBER = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,16})?$/;
const NAME = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;

/**
 * Converts the fields of a form, which are all text, to the values that JSON would have. Skips fields that the route
 * does not use. An empty field counts as absent, except `model`.
 */
export class FormMembers {
  readonly #kinds = new Map<string, Kind>();
  readonly #members: Record<string, unknown> = {};
  readonly #lists = new Map<string, string[]>();

  constructor(kinds: FormFieldKinds) {
    for (const [kind, names] of Object.entries(kinds)) for (const name of names) this.#kinds.set(name, kind as Kind);
  }

  /** @throws AppError invalid_request naming the field */
  add(field: string, value: string): void {
    const [, name = '', brackets = ''] = NAME.exec(field) ?? [];
    const kind = this.#kinds.get(name);
    if (kind === undefined) return;
    if (kind === 'lists' && (brackets === '' || brackets === '[]')) this.#addToList(name, value);
    else if (brackets !== '') throw refused(name, 'is given in brackets');
    else this.#set(name, kind, value);
  }

  toBody(): Readonly<Record<string, unknown>> {
    return { ...this.#members, ...Object.fromEntries(this.#lists) };
  }

  #addToList(name: string, value: string): void {
    const list = this.#lists.get(name) ?? [];
    this.#lists.set(name, list);
    list.push(...(value.startsWith('[') ? elementsOf(name, value) : [value]));
  }

  #set(name: string, kind: Kind, value: string): void {
    if (Object.hasOwn(this.#members, name)) throw refused(name, 'is given more than once');
    this.#members[name] = value === '' && name !== 'model' ? undefined : valueOf(name, kind, value);
  }
}

/** Text that is neither a number nor a flag stays text; validation then refuses it by name. */
function valueOf(name: string, kind: Kind, value: string): unknown {
  if (kind === 'numbers') return NUMBER.test(value) ? Number(value) : value;
  if (kind === 'flags') return value === 'true' ? true : value === 'false' ? false : value;
  return kind === 'objects' ? objectOf(name, value) : value;
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
