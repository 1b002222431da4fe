import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';
import type { NamedBy } from './route-model';

/** One endpoint to try, and the model it serves. */
export interface Candidate {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** The caller's own key to call it with; absent and null mean the shared one. */
  readonly credential?: OwnCredential | null;
}

/** An endpoint that could serve one of the models. */
export interface ConsideredEndpoint {
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly credential: OwnCredential | null;
  /** The member of the request or the condition that ruled it out; null: it is among the candidates. */
  readonly excludedBy: string | null;
}

export interface RoutePlan {
  /** To be tried in this order; empty only in the plan of a request that could not be routed. */
  readonly candidates: readonly Candidate[];
  readonly considered: readonly ConsideredEndpoint[];
  /** The first model as the request named it. */
  readonly requested: string;
  /** The slug it resolves to; null when there is no such model. */
  readonly resolved: string | null;
  readonly namedBy: NamedBy;
  /** Of the gateway that planned it; null or absent where it has none. */
  readonly region?: string | null;
}
