import type { JsonObject } from '@libs/json';
import type { Api } from '../catalogue/catalogue';

/** Properties of one API of callers that all APIs have, whatever their bodies look like. */
export interface CallerApi {
  readonly name: Api;
  /** The class whose decorators validate the body. */
  readonly body: new () => object;
  /** Returns the caller's id of its end user; not validated. */
  readonly endUserOf: (body: JsonObject) => unknown;
}

/** An API that accepts files: its requests are forms or JSON. */
export interface FormApi extends CallerApi {
  readonly formFields: FormFieldKinds;
}

/** The kinds of the fields of a form, by field name. */
export interface FormFieldKinds {
  readonly texts: readonly string[];
  readonly numbers?: readonly string[];
  readonly flags?: readonly string[];
  /** JSON objects. */
  readonly objects?: readonly string[];
  /** Texts that may be repeated: as fields with or without `[]` in their name, or as one JSON array. */
  readonly lists?: readonly string[];
}
