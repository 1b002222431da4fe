import type { Endpoint } from '../catalogue/catalogue';

/** Something that an endpoint must be able to do for a request, and what to say where none is. */
export interface EndpointNeed {
  /** Of the request. */
  readonly member: string;
  readonly message: string;
  /** `credential` is the caller's own, whichever it is; null: the operator's key would be used. */
  readonly isMetBy: (endpoint: Endpoint, credential: object | null) => boolean;
}
