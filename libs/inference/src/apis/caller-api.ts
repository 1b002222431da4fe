import type { JsonObject } from '@libs/json';
import type { Api } from '../catalogue/catalogue';

/** One API of callers, whatever its bodies hold: what all code that serves every API has to know of it. */
export interface CallerApi {
  readonly name: Api;
  /** The class whose decorators say what a valid body is. */
  readonly body: new () => object;
  /** Returns the caller's name for its end user; not checked. */
  readonly endUserOf: (body: JsonObject) => unknown;
}

/** An API that takes files: its requests are forms or JSON. */
export interface FormApi extends CallerApi {
  readonly formFields: FormFieldKinds;
}

/** What the fields of a form are, by their names. */
export interface FormFieldKinds {
  readonly texts: readonly string[];
  readonly numbers?: readonly string[];
  readonly flags?: readonly string[];
  /** JSON objects. */
  readonly objects?: readonly string[];
  /** Texts that may be given several times, under their names with or without `[]`, or as one JSON array. */
  readonly lists?: readonly string[];
}
