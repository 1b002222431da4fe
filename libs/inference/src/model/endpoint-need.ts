import type { Endpoint } from '../catalogue/catalogue';

/** A capability that an endpoint must have for a request, and the error message if no endpoint has it. */
export interface EndpointNeed {
  /** The field of the request that needs it. */
  readonly member: string;
  readonly message: string;
  /** `credential` is any key of the caller's own; null: the operator's key would be used. */
  readonly isMetBy: (endpoint: Endpoint, credential: object | null) => boolean;
}
