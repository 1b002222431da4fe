import { isConversationApi } from '../apis/apis';
import type { Api, Endpoint } from '../catalogue/catalogue-entries';
import { SEARCHES_OF_CHAT } from '../model/allowed-uses';
import { toolRate } from '../pricing/price';
import type { AllowedUses } from '../pricing/tool-uses';

/**
 * Returns whether the provider may write to its prompt cache, and charge for it, where the request has no mark for
 * that. Anthropic's API and Bedrock write only what is marked.
 */
export function cachesUnasked({ apis, provider }: Endpoint): boolean {
  return !apis.includes('messages') && !provider.protocol.endsWith('bedrock');
}

/** Whether the model searches the web by itself, and is paid for it. It has no API in which a request names tools. */
function searchesUnasked({ apis, pricing }: Endpoint): boolean {
  return (pricing.webSearch ?? 0n) > 0n && !apis.includes('responses') && !apis.includes('messages');
}

/**
 * Returns the uses of tools to reserve at an endpoint for a request that allows these: those that it has a price for or
 * runs in the API of the request, and the searches of a model that searches by itself. What a translation leaves out is
 * not run.
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

/** A model writes no more at once than an answer may have. */
function writtenAt({ maxCompletionTokens, contextLength }: Endpoint, uses: AllowedUses): AllowedUses {
  const { tokensWritten = 0 } = uses;
  const most = maxCompletionTokens ?? contextLength ?? tokensWritten;
  return tokensWritten <= most ? uses : { ...uses, tokensWritten: most };
}

/** Whether the price of the request pays for searches of a model that searches by itself, and for what they cite. */
function isIncluded({ pricing }: Endpoint, uses: AllowedUses): boolean {
  return uses === SEARCHES_OF_CHAT && pricing.webSearch === 0n;
}

const NO_USES: readonly AllowedUses[] = [];
const SEARCHES_UNASKED: readonly AllowedUses[] = [SEARCHES_OF_CHAT];

function isSold({ pricing }: Endpoint, tool: string): boolean {
  return toolRate(pricing, tool) !== undefined;
}
