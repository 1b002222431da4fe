import { objectOf } from '@libs/json';
import type { ReasoningEffort } from '../../model/canonical-request';
import type { Endpoint } from '../../catalogue/catalogue';

const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Returns the efforts that a model takes, lowest first; none if it does not think. The catalogue lists them:
 * `capabilities: { chat: { reasoning_efforts: [none, high] } }`.
 */
export function effortsOf({ capabilities }: Endpoint): readonly ReasoningEffort[] {
  const known = objectOf(capabilities['chat'])['reasoning_efforts'];
  return Array.isArray(known) ? EFFORTS.filter((effort) => known.includes(effort)) : [];
}

/** Returns the known effort nearest to the one asked for; of two equally near ones the higher. */
export function nearestEffort(asked: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const distance = (effort: ReasoningEffort): number => Math.abs(EFFORTS.indexOf(effort) - EFFORTS.indexOf(asked));
  // Thinking is turned off only if the request says `none`.
  const candidates = asked === 'none' ? known : known.filter((effort) => effort !== 'none');
  return candidates
    .toReversed()
    .reduce<ReasoningEffort | undefined>(
      (best, effort) => (best === undefined || distance(effort) < distance(best) ? effort : best),
      undefined,
    );
}

/** Returns the endpoint with the chat capabilities that every endpoint of this protocol has. */
export function asChatEndpoint(endpoint: Endpoint): Endpoint {
  const chat = objectOf(endpoint.capabilities['chat']);
  const own = { max_tokens: true, metadata: true, reasoning_content: effortsOf(endpoint).length > 0 };
  return { ...endpoint, capabilities: { ...endpoint.capabilities, chat: { ...chat, ...own } } };
}
