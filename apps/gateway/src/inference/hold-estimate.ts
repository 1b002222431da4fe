import {
  endpointsNamed,
  heldOutputTokens,
  highestPricesFor,
  mostPromptTokens,
  priceTokens,
  upstreamApiFor,
  type Api,
  type Catalogue,
  type Endpoint,
  type PicoUsd,
} from '@libs/inference';

/** Number of model turns to reserve credit for at first when server tools are used; later turns reserve their own. */
export const HELD_TURNS = 4n;

export interface ExpectedUsage {
  readonly api: Api;
  /** As the request names them: the first, and those it may fall back to. */
  readonly models: readonly string[];
  readonly promptTokens: number;
  /** The caller's cap on one answer, or null. */
  readonly maxTokens: number | null;
  readonly answers: number;
}

/** What a call is expected to cost at most, at the dearest endpoint it may be routed to. */
export function estimateHold(catalogue: Catalogue, expected: ExpectedUsage): PicoUsd {
  let dearest = 0n;
  for (const name of expected.models) {
    for (const endpoint of endpointsNamed(name, catalogue)) {
      if (upstreamApiFor(expected.api, endpoint, undefined) === null) continue;
      const cost = costAt(endpoint, expected);
      if (cost > dearest) dearest = cost;
    }
  }
  return dearest;
}

function costAt(endpoint: Endpoint, { api, promptTokens, maxTokens, answers }: ExpectedUsage): PicoUsd {
  // A provider refuses a prompt that does not fit, and charges nothing for it. Inputs to embed have a context each.
  const prompt = api === 'embeddings' ? promptTokens : Math.min(promptTokens, endpoint.contextLength ?? promptTokens);
  const completion = api === 'embeddings' ? 0 : heldOutputTokens(endpoint, { maxTokens, answers });
  return priceTokens(highestPricesFor(endpoint.pricing, prompt, mostPromptTokens(prompt)), prompt, completion);
}
