import { APIS, isConversationApi } from '../apis/apis';
import type { Api, Endpoint } from '../catalogue/catalogue-entries';
import type { StreamableApi } from '../dialects/dialect-pairs';
import type { EndpointNeed } from '../model/endpoint-need';
import type { AskedTool } from '../model/provider-tools';
import { toolRate } from '../pricing/price';
import type { ProviderTool } from '../pricing/tool-uses';

/** Returns whether answers of an API count the uses of a provider's tool. Uses that are not counted cannot be charged. */
export function countsUses(api: Api, tool: ProviderTool): boolean {
  return isConversationApi(api) && APIS[api].tools.countsUses(tool);
}

/** Returns whether an endpoint may run its provider's tool on the operator's account for a request of this API. */
export function sellsTool({ pricing }: Endpoint, api: Api, tool: ProviderTool): boolean {
  return countsUses(api, tool) && toolRate(pricing, tool) !== undefined;
}

/**
 * The catalogue has one price for a use of a tool, so settings that cost more are only for callers who pay the
 * provider.
 */
function needOfSetting(tool: ProviderTool, member: string): EndpointNeed {
  return {
    member,
    message: `This ${member} costs more than the price of the tool ${tool}: it needs a provider key of your own`,
    isMetBy: (_endpoint, credential) => credential !== null,
  };
}

/** Returns what an endpoint needs to run a tool: a price and a count of its uses, or the caller's own key. */
export function needOfTool(api: StreamableApi, { tool, member, dearerMember }: AskedTool): EndpointNeed {
  if (dearerMember !== undefined) return needOfSetting(tool, dearerMember);
  const problem = countsUses(api, tool)
    ? 'has no price at the providers of the model'
    : 'cannot be charged, because answers of this API do not count its uses';
  return {
    member,
    message: `The tool ${tool} ${problem}: ${member} can only be used with a provider key of your own`,
    isMetBy: (endpoint, credential) => credential !== null || sellsTool(endpoint, api, tool),
  };
}
