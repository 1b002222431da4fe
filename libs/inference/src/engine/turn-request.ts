import type { CanonicalRequest } from '../model/canonical-request';
import type { Turn } from '../model/conversation-turn';
import type { RoutedRequest, Served } from './inference-call';

/** A request for one turn of a conversation that continues after it. */
export interface TurnRequest extends RoutedRequest {
  /** What is sent; `body` is made of it by `turnBody`, for estimates. */
  readonly conversation: CanonicalRequest;
}

export interface TurnResult extends Served {
  readonly turn: Turn;
}
