import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';
import type { NamedBy } from './route-model';

/** An endpoint to try, with the model that it serves. */
export interface Candidate {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** The caller's own key for the call; null or absent: the shared key. */
  readonly credential?: OwnCredential | null;
}

/** An endpoint that could serve one of the models. */
export interface ConsideredEndpoint {
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly credential: OwnCredential | null;
  /** The request field or condition that ruled it out; null: it is one of the candidates. */
  readonly excludedBy: string | null;
}

export interface RoutePlan {
  /**
   * The candidates in the order in which they are tried; empty only in the plan of a request that could not be routed.
   */
  readonly candidates: readonly Candidate[];
  readonly considered: readonly ConsideredEndpoint[];
  /** The first model, by the name in the request. */
  readonly requested: string;
  /** Slug of the model with that name; null if there is no such model. */
  readonly resolved: string | null;
  readonly namedBy: NamedBy;
  /** Region of the gateway that made the plan; null or absent if none is configured. */
  readonly region?: string | null;
}
