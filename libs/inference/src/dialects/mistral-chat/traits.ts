import type { ReasoningEffort } from '../../model/canonical-request';
import type { Endpoint } from '../../catalogue/catalogue';
import { objectOf } from '../../json/loose-values';

const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * The efforts that a model can be told, least first; none where it does not think. The catalogue says so:
 * `capabilities: { chat: { reasoning_efforts: [none, high] } }`.
 */
export function effortsOf({ capabilities }: Endpoint): readonly ReasoningEffort[] {
  const known = objectOf(capabilities['chat'])['reasoning_efforts'];
  return Array.isArray(known) ? EFFORTS.filter((effort) => known.includes(effort)) : [];
}

/** The known effort next to the one asked for; of two that are equally near the greater. */
export function nearestEffort(asked: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const distance = (effort: ReasoningEffort): number => Math.abs(EFFORTS.indexOf(effort) - EFFORTS.indexOf(asked));
  // No effort but none at all may mean that nothing is thought.
  const candidates = asked === 'none' ? known : known.filter((effort) => effort !== 'none');
  return candidates
    .toReversed()
    .reduce<ReasoningEffort | undefined>(
      (best, effort) => (best === undefined || distance(effort) < distance(best) ? effort : best),
      undefined,
    );
}

/** The endpoint with what every one of the protocol takes of OpenAI's API and beyond it. */
export function asChatEndpoint(endpoint: Endpoint): Endpoint {
  const chat = objectOf(endpoint.capabilities['chat']);
  const own = { max_tokens: true, metadata: true, reasoning_content: effortsOf(endpoint).length > 0 };
  return { ...endpoint, capabilities: { ...endpoint.capabilities, chat: { ...chat, ...own } } };
}
