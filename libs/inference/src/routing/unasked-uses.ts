import { isConversationApi } from '../apis/apis';
import type { Api, Endpoint } from '../catalogue/catalogue-entries';
import { SEARCHES_OF_CHAT } from '../model/allowed-uses';
import { toolRate } from '../pricing/price';
import type { AllowedUses } from '../pricing/tool-uses';

/**
 * Returns whether the provider may write to its prompt cache, and charge for it, without a cache mark in the request.
 * Anthropic's API and Bedrock write only what is marked.
 */
export function cachesUnasked({ apis, provider }: Endpoint): boolean {
  return !apis.includes('messages') && !provider.protocol.endsWith('bedrock');
}

/** Returns whether the model searches the web by itself and charges for it. Requests of its API cannot name tools. */
function searchesUnasked({ apis, pricing }: Endpoint): boolean {
  return (pricing.webSearch ?? 0n) > 0n && !apis.includes('responses') && !apis.includes('messages');
}

/**
 * Returns the tool uses to reserve at an endpoint for a request that allows these uses. They are the tools that have a
 * price there or that run in the request's API, and the searches of a model that searches by itself. Tools that a
 * translation leaves out are not run.
 */
export function usesAt(endpoint: Endpoint, api: Api, allowed: readonly AllowedUses[]): readonly AllowedUses[] {
  if (!isConversationApi(api)) return NO_USES;
  const isSearching = searchesUnasked(endpoint);
  if (allowed.length === 0) return isSearching ? SEARCHES_UNASKED : NO_USES;
  const sold = endpoint.apis.includes(api)
    ? allowed.filter((one) => !isIncluded(endpoint, one)).map((one) => writtenAt(endpoint, one))
    : allowed.filter(({ tools }) => tools === null || tools.some((tool) => isSold(endpoint, tool)));
  return isSearching && !sold.includes(SEARCHES_OF_CHAT) ? [...sold, SEARCHES_OF_CHAT] : sold;
}

/** A model never writes more in one step than the longest answer. */
function writtenAt({ maxCompletionTokens, contextLength }: Endpoint, uses: AllowedUses): AllowedUses {
  const { tokensWritten = 0 } = uses;
  const most = maxCompletionTokens ?? contextLength ?? tokensWritten;
  return tokensWritten <= most ? uses : { ...uses, tokensWritten: most };
}

/**
 * Returns whether the price of the request already includes the searches of a model that searches by itself, and its
 * citations.
 */
function isIncluded({ pricing }: Endpoint, uses: AllowedUses): boolean {
  return uses === SEARCHES_OF_CHAT && pricing.webSearch === 0n;
}

const NO_USES: readonly AllowedUses[] = [];
const SEARCHES_UNASKED: readonly AllowedUses[] = [SEARCHES_OF_CHAT];

function isSold({ pricing }: Endpoint, tool: string): boolean {
  return toolRate(pricing, tool) !== undefined;
}
