import {
  endpointsNamed,
  estimatedPrice,
  feeOf,
  heldOutputTokens,
  highestPricesFor,
  mostPromptTokens,
  priceTokens,
  resolveModel,
  toolRate,
  upstreamApiFor,
  type Api,
  type Catalogue,
  type Endpoint,
  type PicoUsd,
  type ProviderTool,
  type Share,
} from '@libs/inference';

import type { ChargedShare } from './charged-share';

/** Number of model turns to reserve credit for at first when server tools are used; later turns reserve their own. */
export const HELD_TURNS = 4n;

/** Number of uses to reserve credit for of each tool that the provider runs. */
const HELD_USES = 4n;

export interface ExpectedUsage {
  readonly api: Api;
  /** As the request names them: the first, and those it may fall back to. */
  readonly models: readonly string[];
  readonly promptTokens: number;
  /** The caller's cap on one answer, or null. */
  readonly maxTokens: number | null;
  readonly answers: number;
  /** That a provider runs, if it serves. */
  readonly tools?: readonly ProviderTool[];
}

/** What a call is expected to cost its caller at most, at the dearest endpoint it may be routed to. */
export function estimateHold(
  catalogue: Catalogue,
  expected: ExpectedUsage,
  chargedShare: ChargedShare | null = null,
): PicoUsd {
  const mayServe = (endpoint: Endpoint): boolean => upstreamApiFor(expected.api, endpoint, undefined) !== null;
  const priced = { models: expected.models, mayServe, listPriceAt: (at: Endpoint) => costAt(at, expected) };
  return dearestCharge(catalogue, priced, chargedShare);
}

/** What is to be charged at the dearest of the endpoints that may serve one of these models. */
export function dearestCharge(
  catalogue: Catalogue,
  {
    models,
    mayServe,
    listPriceAt,
  }: {
    readonly models: readonly string[];
    readonly mayServe: (endpoint: Endpoint) => boolean;
    readonly listPriceAt: (endpoint: Endpoint) => PicoUsd;
  },
  chargedShare: ChargedShare | null,
): PicoUsd {
  let dearest = 0n;
  for (const name of models) {
    const model = chargedShare === null ? null : resolveModel(name, catalogue).model;
    for (const endpoint of endpointsNamed(name, catalogue)) {
      if (!mayServe(endpoint)) continue;
      const listPrice = listPriceAt(endpoint);
      const cost = model === null ? listPrice : chargeOf(listPrice, chargedShare!(model, endpoint));
      if (cost > dearest) dearest = cost;
    }
  }
  return dearest;
}

function chargeOf(listPrice: PicoUsd, share: Share | null): PicoUsd {
  return share === null ? listPrice : feeOf(listPrice, share);
}

function costAt(endpoint: Endpoint, { api, promptTokens, maxTokens, answers, tools = [] }: ExpectedUsage): PicoUsd {
  // A provider refuses a prompt that does not fit, and charges nothing for it. Inputs to embed have a context each.
  const prompt = api === 'embeddings' ? promptTokens : Math.min(promptTokens, endpoint.contextLength ?? promptTokens);
  const completion = api === 'embeddings' ? 0 : heldOutputTokens(endpoint, { maxTokens, answers });
  const prices = highestPricesFor(endpoint.pricing, prompt, mostPromptTokens(prompt));
  const tokens = priceTokens(prices, prompt, completion);
  return tools.reduce((sum, tool) => sum + estimatedPrice(toolRate(prices, tool) ?? 0n, HELD_USES), tokens);
}
