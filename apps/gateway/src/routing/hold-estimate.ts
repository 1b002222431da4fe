import {
  cachesUnasked,
  definitionOf,
  endpointsNamed,
  heldOutputTokens,
  highestPricesFor,
  mostPromptTokens,
  priceExpected,
  promptAt,
  promptTokensRead,
  resolveModel,
  upstreamApiFor,
  usesAt,
  type AllowedUses,
  type Api,
  type Catalogue,
  type Endpoint,
  type PicoUsd,
  type PromptKinds,
  type ProviderFilter,
  type ThinkingWish,
} from '@libs/inference';

import { reservedOf, type ChargedShare } from './charged-share';

/** Number of model turns to reserve credit for at first when server tools are used; later turns reserve their own. */
export const HELD_TURNS = 4n;

export interface ExpectedUsage {
  readonly api: Api;
  /** The models of the request: the first one and its fallbacks. */
  readonly models: readonly string[];
  readonly promptTokens: number;
  /** The parts of the prompt that have rates of their own; absent if all is plain text. */
  readonly promptKinds?: PromptKinds | null;
  /** The caller's cap on one answer, or null. */
  readonly maxTokens: number | null;
  readonly answers: number;
  /** Size of the request body, for embeddings that take several calls; 0 if absent. */
  readonly bodyBytes?: number;
  /** Absent where nothing thinks. */
  readonly thinking?: ThinkingWish;
  /** Tokens of a prediction; absent if there is none. */
  readonly predictedTokens?: number | undefined;
  /** Tool uses that a provider may make, if it serves. */
  readonly toolUses?: readonly AllowedUses[];
}

/**
 * Returns the most that a call is expected to cost its caller, at the most expensive endpoint to which it may be
 * routed.
 */
export function estimateHold(
  catalogue: Catalogue,
  expected: ExpectedUsage,
  chargedShare: ChargedShare | null = null,
  hasKey: ProviderFilter | null = null,
): PicoUsd {
  const mayServe = (endpoint: Endpoint): boolean => upstreamApiFor(expected.api, endpoint, undefined) !== null;
  const priced = { models: expected.models, mayServe, hasKey, listPriceAt: (at: Endpoint) => costAt(at, expected) };
  return dearestCharge(catalogue, priced, chargedShare);
}

/** Work whose cost is to be reserved. */
export interface PricedWork {
  readonly models: readonly string[];
  readonly mayServe: (endpoint: Endpoint) => boolean;
  readonly listPriceAt: (endpoint: Endpoint) => PicoUsd;
  /** Whether any key may be used at a provider; null: not known. */
  readonly hasKey: ProviderFilter | null;
}

/**
 * Returns the highest charge of the endpoints that may serve one of these models. Endpoints for which there is no key
 * count only if there is a key for none.
 */
export function dearestCharge(catalogue: Catalogue, work: PricedWork, chargedShare: ChargedShare | null): PicoUsd {
  let dearest = 0n;
  let dearestWithKey: PicoUsd | null = null;
  for (const name of work.models) {
    const model = chargedShare === null ? null : resolveModel(name, catalogue).model;
    for (const endpoint of endpointsNamed(name, catalogue)) {
      if (!work.mayServe(endpoint)) continue;
      const cost = reservedOf(work.listPriceAt(endpoint), model && chargedShare!(model, endpoint));
      dearest = larger(dearest, cost);
      if (work.hasKey?.(endpoint.provider) === true) dearestWithKey = larger(dearestWithKey ?? 0n, cost);
    }
  }
  return dearestWithKey ?? dearest;
}

function larger(left: PicoUsd, right: PicoUsd): PicoUsd {
  return left > right ? left : right;
}

function costAt(endpoint: Endpoint, expected: ExpectedUsage): PicoUsd {
  const { api, answers, toolUses = NO_USES } = expected;
  const { promptTokens: counted, promptKinds = null } = expected;
  const { tokens: promptTokens, kinds } = promptAt(endpoint, { tokens: counted, kinds: promptKinds });
  const generates = definitionOf(api)?.generates ?? true;
  const { contextLength } = endpoint;
  // A provider refuses a prompt that exceeds the context and charges nothing for it. Each embeddings input has the
  // whole context.
  const prompt = generates ? Math.min(promptTokens, contextLength ?? promptTokens) : promptTokens;
  const use = {
    promptTokens: prompt,
    kinds,
    cachesUnasked: cachesUnasked(endpoint),
    completionTokens: generates ? heldOutputTokens(endpoint, expected) : 0,
    answers: generates ? answers : 0,
    calls: callsAt(endpoint, expected),
    tools: usesAt(endpoint, api, toolUses),
    contextLength,
  };
  const most = promptTokensRead({ ...use, promptTokens: mostPromptTokens(prompt) });
  return priceExpected(highestPricesFor(endpoint.pricing, prompt, most), use);
}

function callsAt(endpoint: Endpoint, { api, answers, bodyBytes = 0 }: ExpectedUsage): number {
  return definitionOf(api)?.callsAt?.(endpoint, answers, bodyBytes) ?? 1;
}

const NO_USES: readonly AllowedUses[] = [];
