import type { CanonicalRequest } from '../model/canonical-request';
import type { Turn } from '../model/conversation-turn';
import type { RoutedRequest, Served } from './inference-call';

/** A request for one turn of a conversation that continues after it. */
export interface TurnRequest extends RoutedRequest {
  /** The conversation to send. `turnBody` makes `body` from it, which is used for estimates. */
  readonly conversation: CanonicalRequest;
}

export interface TurnResult extends Served {
  readonly turn: Turn;
}
