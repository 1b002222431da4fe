import type { EndpointNeed } from '../model/endpoint-need';
import { mostLikelyPromptTokens } from '../model/estimate';
import { outputLimitOf } from '../model/output-limit';
import { keepsFiles } from '../model/provider-tools';
import type { ProviderTool } from '../pricing/tool-uses';
import { ownAccountNeed } from './account-references';
import type { Rate } from '../pricing/money';
import type { PriceList } from '../pricing/price';
import { dearestCompletion } from '../pricing/price-estimate';
import { highestPricesFor } from '../pricing/price-overrides';
import type { Endpoint } from '../catalogue/catalogue-entries';
import { collectsData, isZdr, type Contender } from './route-contender';
import { isChosen, policyFilters, type HardFilter } from './route-policy';
import { isNamedIn } from './route-names';
import type { Reason } from './route-refusal';
import type { MaxPrice, RouteRequest, RoutingPreferences } from './route-request';
import { supportsParameter, traitsOf } from '../catalogue/endpoint-traits';

/** Returns the request fields that would not be sent to an endpoint with this key. */
export type LostMembers = (contender: Contender) => readonly string[];

/**
 * Returns the hard filters of a request that have an effect. If no endpoint is left, the first one that removed the
 * last endpoint is named. Removals by the policy of a workspace or key are forbidden (403), by the request's own
 * preferences not found (404), and by its size an invalid request (400). The filter that tries translations comes last,
 * because it is the most expensive.
 */
export function hardFilters(request: RouteRequest, lostMembers: LostMembers = () => []): readonly HardFilter[] {
  const { policies, preferences, tools } = request;
  const isStrict = preferences?.requireParameters === true;
  const filters: HardFilter[] = [];
  if (policies) for (const policy of policies) filters.push(...policyFilters(policy, tools));
  if (preferences) filters.push(...dataFilters(preferences, tools), ...choiceFilters(preferences, request));
  filters.push(...needsOf(request).map(needFilter));
  filters.push(promptFilter(request), ...outputFilters(request));
  if (isStrict) filters.push(parameterFilter(request.parameters ?? []));
  filters.push(...modalityFilters(request));
  if (isStrict) filters.push(translationFilter(lostMembers));
  return filters;
}

function needsOf({ needs = [], accountReference }: RouteRequest): readonly EndpointNeed[] {
  return accountReference ? [...needs, ownAccountNeed(accountReference)] : needs;
}

function needFilter({ member, message, isMetBy }: EndpointNeed): HardFilter {
  const constraint = { field: member, detail: message };
  return {
    reason: { error: 'invalid_request', code: 'constraint_filtered', message, constraint },
    keeps: ({ endpoint, credential }) => isMetBy(endpoint, credential),
  };
}

function dataFilters(preferences: RoutingPreferences, tools: RouteRequest['tools'] = []): HardFilter[] {
  const filters: HardFilter[] = [];
  const isDenied = preferences.dataCollection === 'deny';
  if (isDenied) filters.push({ reason: NO_COLLECTION, keeps: (contender) => !collectsData(contender) });
  if (preferences.zdr === true) filters.push({ reason: ZDR_ONLY, keeps: isZdr });
  if (isDenied || preferences.zdr === true) {
    const field = preferences.zdr === true ? 'provider.zdr' : 'provider.data_collection';
    for (const tool of tools.filter(keepsFiles)) filters.push({ reason: keptBy(tool, field), keeps: () => false });
  }
  if (preferences.enforceDistillableText === true) {
    filters.push({ reason: DISTILLABLE_ONLY, keeps: ({ endpoint }) => traitsOf(endpoint).isDistillable });
  }
  return filters;
}

function choiceFilters(preferences: RoutingPreferences, { estimatedPromptTokens = 0 }: RouteRequest): HardFilter[] {
  const { only, ignore, order, allowFallbacks, quantizations, maxPrice } = preferences;
  const filters: HardFilter[] = [];
  if (only) filters.push({ reason: NOT_CHOSEN, keeps: isChosen(only, null) });
  if (ignore?.length) filters.push({ reason: IGNORED, keeps: isChosen(null, ignore) });
  if (order && allowFallbacks === false) {
    filters.push({ reason: NOT_IN_ORDER, keeps: ({ endpoint }) => isNamedIn(endpoint, order) });
  }
  if (quantizations) {
    const accepted = new Set(quantizations.flatMap((name) => [name, ...(COVERED[name] ?? [])]));
    filters.push({ reason: OTHER_QUANTIZATION, keeps: ({ endpoint }) => accepted.has(endpoint.quantization) });
  }
  if (maxPrice) {
    const mostTokens = mostLikelyPromptTokens(estimatedPromptTokens);
    const isAffordable = ({ pricing }: Endpoint): boolean =>
      isWithinPrice(highestPricesFor(pricing, estimatedPromptTokens, mostTokens), maxPrice);
    filters.push({ reason: TOO_DEAR, keeps: ({ endpoint }) => isAffordable(endpoint) });
  }
  return filters;
}

/**
 * The prompt is only estimated. An endpoint is ruled out as too small only if the prompt would not fit even if the
 * estimate were this many times too high. Otherwise it is put at the end of the order.
 */
const ESTIMATE_DOUBT = 4;

function promptFilter({ estimatedPromptTokens = 0 }: RouteRequest): HardFilter {
  const leastTokens = estimatedPromptTokens / ESTIMATE_DOUBT;
  let longest = 0;
  return {
    keeps: ({ endpoint: { contextLength } }) => {
      longest = Math.max(longest, contextLength ?? 0);
      return contextLength === null || leastTokens <= contextLength;
    },
    reason() {
      const numbers = `about ${Math.ceil(estimatedPromptTokens)} tokens, and ${longest} are the most`;
      return { ...PROMPT_TOO_LONG, message: `${PROMPT_TOO_LONG.message}: ${numbers}` };
    },
  };
}

/** If answers must not be capped, rules out endpoints that produce fewer tokens than requested. */
function outputFilters({
  maxOutputTokens: asked = null,
  maxOutputTokensField: field = 'max_tokens',
  capsOutput = true,
  preferences,
}: RouteRequest): HardFilter[] {
  if (asked === null || (capsOutput && preferences?.requireParameters !== true)) return [];
  let longest = 0;
  return [
    {
      keeps: ({ endpoint }) => {
        const limit = outputLimitOf(endpoint) ?? asked;
        longest = Math.max(longest, limit);
        return asked <= limit;
      },
      reason() {
        const message = `${ANSWER_TOO_LONG.message}: ${asked} were asked for, and ${longest} are the most{providers}`;
        return { ...ANSWER_TOO_LONG, message, constraint: { field, detail: message }, remedy: `lower ${field}` };
      },
    },
  ];
}

function parameterFilter(parameters: readonly string[]): HardFilter {
  return {
    reason: UNSUPPORTED_PARAMETERS,
    keeps: ({ endpoint }) => parameters.every((name) => supportsParameter(endpoint, name)),
  };
}

/** Rules out endpoints whose dialect would lose a field of the request (`require_parameters`). */
function translationFilter(lostMembers: LostMembers): HardFilter {
  const lost = new Set<string>();
  return {
    keeps: (contender) => {
      const members = lostMembers(contender);
      for (const member of members) lost.add(member);
      return members.length === 0;
    },
    reason() {
      const detail = `${LOST_IN_TRANSLATION.message}; not carried: ${[...lost].slice(0, MOST_NAMED).join(', ')}`;
      return { ...LOST_IN_TRANSLATION, constraint: { field: REQUIRE_PARAMETERS, detail } };
    },
  };
}

function modalityFilters({ inputModalities = [], outputModalities = [] }: RouteRequest): HardFilter[] {
  const filters: HardFilter[] = [];
  if (inputModalities.length > 0) {
    filters.push({
      reason: otherInput(inputModalities),
      keeps: ({ model: { architecture } }) =>
        inputModalities.every((name) => architecture.inputModalities.includes(name)),
    });
  }
  if (outputModalities.length > 0) {
    filters.push({
      reason: OTHER_OUTPUT,
      keeps: ({ model: { architecture } }) =>
        outputModalities.every((name) => architecture.outputModalities.includes(name)),
    });
  }
  return filters;
}

/** A general name includes the formats that are special cases of it. */
const COVERED: Readonly<Record<string, readonly string[]>> = { fp4: ['mxfp4', 'nvfp4'], fp8: ['mxfp8'] };

const TOKENS_PER_LIMIT = 1_000_000n;

function isWithinPrice(prices: PriceList, limit: MaxPrice): boolean {
  return (
    isAtMost(prices.prompt * TOKENS_PER_LIMIT, limit.promptPerMillion) &&
    isAtMost(dearestCompletion(prices) * TOKENS_PER_LIMIT, limit.completionPerMillion) &&
    isAtMost((prices.audio ?? prices.prompt) * TOKENS_PER_LIMIT, limit.audioPerMillion) &&
    isAtMost(prices.image ?? 0n, limit.image) &&
    isAtMost(prices.request ?? 0n, limit.request)
  );
}

function isAtMost(price: Rate, limit: Rate | undefined): boolean {
  return limit === undefined || price <= limit;
}

function notFound(code: Reason['code'], excludedBy: Reason['excludedBy'], field: string, message: string): Reason {
  return { error: 'not_found', code, message, excludedBy, constraint: { field, detail: message } };
}

const NO_COLLECTION = notFound(
  'privacy_restricted',
  'data_policy:training',
  'provider.data_collection',
  'No provider of {model} leaves prompts unused and unkept{providers}',
);
const ZDR_ONLY = notFound(
  'privacy_restricted',
  'data_policy:zdr',
  'provider.zdr',
  'No provider of {model} has zero data retention{providers}',
);
const keptBy = (tool: ProviderTool, field: string): Reason =>
  notFound(
    'privacy_restricted',
    'data_policy:zdr',
    field,
    `The tool ${tool} keeps files at the provider, so it cannot be used where nothing may be kept`,
  );
const DISTILLABLE_ONLY = notFound(
  'constraint_filtered',
  undefined,
  'provider.enforce_distillable_text',
  'No provider of {model} allows its outputs to train other models{providers}',
);
const NOT_CHOSEN = notFound(
  'constraint_filtered',
  'allowed_providers',
  'provider.only',
  'No provider of {model} is allowed{providers}',
);
const IGNORED = notFound(
  'constraint_filtered',
  'allowed_providers',
  'provider.ignore',
  'Every provider of {model} is ignored{providers}',
);
const NOT_IN_ORDER = notFound(
  'constraint_filtered',
  'allowed_providers',
  'provider.order',
  'No provider of {model} is in the order, and fallbacks are not allowed{providers}',
);
const OTHER_QUANTIZATION = notFound(
  'constraint_filtered',
  'quantization',
  'provider.quantizations',
  'No provider of {model} serves it in a quantization that was asked for{providers}',
);
const TOO_DEAR = notFound(
  'constraint_filtered',
  'max_price',
  'provider.max_price',
  'Every provider of {model} costs more than the limit{providers}',
);
const REQUIRE_PARAMETERS = 'provider.require_parameters';
const UNSUPPORTED_PARAMETERS = notFound(
  'constraint_filtered',
  'require_parameters',
  REQUIRE_PARAMETERS,
  'No provider of {model} supports every parameter of the request{providers}',
);
const LOST_IN_TRANSLATION = notFound(
  'constraint_filtered',
  'require_parameters',
  REQUIRE_PARAMETERS,
  'No provider of {model} can be sent every member of the request{providers}',
);
/** Members in a message. */
const MOST_NAMED = 16;
/** Content is in many fields, so no one field is to blame. */
const otherInput = (kinds: readonly string[]): Reason => ({
  error: 'not_found',
  code: 'no_endpoints',
  message: `No provider of {model} takes every kind of content of the request (text, ${kinds.join(', ')}){providers}`,
});
const OTHER_OUTPUT = notFound(
  'no_endpoints',
  undefined,
  'modalities',
  'No provider of {model} gives every kind of content of the request{providers}',
);
export const OTHER_TIER = notFound(
  'constraint_filtered',
  undefined,
  'service_tier',
  'No provider of {model} serves the service tier{providers}',
);
const PROMPT_TOO_LONG: Reason = {
  error: 'context_length_exceeded',
  code: 'constraint_filtered',
  message: 'The prompt is longer than the context of {model}',
  excludedBy: 'context_length',
};
const ANSWER_TOO_LONG: Reason = {
  error: 'max_tokens_exceeded',
  code: 'constraint_filtered',
  message: 'No provider of {model} gives that many output tokens',
  excludedBy: 'context_length',
};
