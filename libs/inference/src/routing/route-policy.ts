import { parseRequest } from '../dialects/request-members';
import { keepsFiles, toolsIn } from '../model/provider-tools';
import type { ProviderTool } from '../pricing/tool-uses';
import { forbidsRetention } from './account-of-request';
import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { Candidate } from './planned-route';
import { collectsData, isZdr, regionOf, type Contender } from './route-contender';
import { isInRegion, isModelAmong, isNamedIn } from './route-names';
import { refusal, type ExcludedBy, type Reason } from './route-refusal';
import type { RoutePolicy } from './route-request';

/** A rule that no plan may break, and the error message for the case that it removes all endpoints. */
export interface HardFilter {
  /** A function, if the message names what the filter has seen. */
  readonly reason: Reason | (() => Reason);
  readonly keeps: (contender: Contender) => boolean;
}

interface PolicyFilter extends HardFilter {
  readonly reason: Reason;
}

/**
 * Returns the restrictions of a policy as filters; none for what it does not mention. An endpoint that they remove is
 * forbidden (403).
 * @param tools that a provider or the gateway would run for the request
 */
export function policyFilters(policy: RoutePolicy, tools: readonly ProviderTool[] = NO_TOOLS): readonly PolicyFilter[] {
  return tools.length === 0 ? endpointFilters(policy) : [...endpointFilters(policy), ...toolFilters(policy, tools)];
}

const NO_TOOLS: readonly ProviderTool[] = [];

function endpointFilters(policy: RoutePolicy): readonly PolicyFilter[] {
  const { allowedProviders, ignoredProviders, allowedModels, ignoredModels, regions } = policy;
  const filters: PolicyFilter[] = [];
  const add = (member: string, rule: Omit<Rule, 'member'>, keeps: HardFilter['keeps']): void => {
    filters.push({ reason: forbiddenBy(policy, { ...rule, member }), keeps });
  };
  if (allowedModels) add('allowed_models', MODEL, ({ model }) => isModelAmong(model, allowedModels));
  if (ignoredModels?.length) add('ignored_models', MODEL, ({ model }) => !isModelAmong(model, ignoredModels));
  if (allowedProviders) add('allowed_providers', PROVIDER, isChosen(allowedProviders, null));
  if (ignoredProviders?.length) add('ignored_providers', PROVIDER, isChosen(null, ignoredProviders));
  if (policy.isDataCollectionDenied === true) add('data_collection', COLLECTION, (one) => !collectsData(one));
  if (policy.isZdrRequired === true) add('zdr', ZDR, isZdr);
  if (regions) {
    add('allowed_data_regions', REGION, (one) => regions.some((wanted) => isInRegion(regionOf(one), wanted)));
  }
  return filters;
}

/** Returns the filters of a policy on tools, which apply to all endpoints equally. */
function toolFilters(policy: RoutePolicy, tools: readonly ProviderTool[]): readonly PolicyFilter[] {
  return forbiddenTools(policy, tools).map(({ member, tool }) => ({
    reason: forbiddenBy(policy, { ...toolRule(tool), member }),
    keeps: () => false,
  }));
}

/**
 * Returns the candidates of a model that every policy allows.
 * @throws AppError permission_denied with the name of the field that leaves none
 */
export function allowedCandidates(
  candidates: readonly Candidate[],
  policies: readonly RoutePolicy[],
  slug: string,
  tools: readonly ProviderTool[] = [],
): readonly Candidate[] {
  let left = candidates.map((candidate) => ({ candidate, contender: contenderOf(candidate) }));
  for (const { reason, keeps } of policies.flatMap((policy) => policyFilters(policy, tools))) {
    const kept = left.filter(({ contender }) => keeps(contender));
    if (kept.length === 0 && left.length > 0) {
      throw refusal(
        reason,
        [slug],
        left.map(({ contender }) => contender.endpoint.provider.name),
      );
    }
    left = kept;
  }
  return left.map(({ candidate }) => candidate);
}

/** Returns whether policies allow the place to which a caller's own key moved a candidate that they allow. */
export function isPlaceAllowed(
  candidate: Candidate,
  endpoint: Endpoint,
  policies: readonly RoutePolicy[] = [],
): boolean {
  if (endpoint === candidate.endpoint) return true;
  const region = regionOf(contenderOf({ ...candidate, endpoint }));
  return policies.every(({ regions }) => !regions || regions.some((wanted) => isInRegion(region, wanted)));
}

/** Returns whether the policies leave the model at least one endpoint on shared capacity. */
export function isModelAllowed(model: Model, policies: readonly RoutePolicy[]): boolean {
  const filters = policies.flatMap((policy) => policyFilters(policy));
  return model.endpoints.some((endpoint) => {
    const contender = contenderOf({ model, endpoint, credential: null });
    return filters.every(({ keeps }) => keeps(contender));
  });
}

/** Returns the tools that a body asks for; none if no policy says anything of tools. */
export function ruledToolsIn(body: Buffer, policies: readonly RoutePolicy[]): readonly ProviderTool[] {
  return policies.some(rulesTools) ? toolsIn(parseRequest(body)) : NO_TOOLS;
}

/** Whether a policy says anything of tools. */
export function rulesTools(policy: RoutePolicy): boolean {
  return Boolean(policy.allowedTools ?? policy.ignoredTools) || forbidsRetention(policy);
}

function forbiddenTools(
  policy: RoutePolicy,
  tools: readonly ProviderTool[],
): readonly { readonly member: string; readonly tool: ProviderTool }[] {
  const { allowedTools, ignoredTools, isZdrRequired } = policy;
  const keepsNothing = forbidsRetention(policy);
  return tools.flatMap((tool) => {
    if (allowedTools && !allowedTools.includes(tool)) return [{ member: 'allowed_tools', tool }];
    if (ignoredTools?.includes(tool)) return [{ member: 'ignored_tools', tool }];
    return keepsNothing && keepsFiles(tool)
      ? [{ member: isZdrRequired === true ? 'zdr' : 'data_collection', tool }]
      : [];
  });
}

function toolRule(tool: ProviderTool): Omit<Rule, 'member'> {
  return { code: 'constraint_filtered', detail: `the tool ${tool} may not be used` };
}

function contenderOf({ model, endpoint, credential = null }: Candidate): Contender {
  return { model, endpoint, credential, tierRank: 0, excludedBy: null };
}

export function isChosen(
  only: readonly string[] | null | undefined,
  ignore: readonly string[] | null | undefined,
): (contender: { readonly endpoint: Endpoint }) => boolean {
  return ({ endpoint }) => (!only || isNamedIn(endpoint, only)) && !(ignore && isNamedIn(endpoint, ignore));
}

interface Rule {
  /** The field of the policy, as its owner wrote it. */
  readonly member: string;
  readonly code: Reason['code'];
  readonly excludedBy?: ExcludedBy;
  readonly detail: string;
}

const MODEL = { code: 'constraint_filtered', detail: '{model} may not be used' } as const;
const PROVIDER = {
  code: 'constraint_filtered',
  excludedBy: 'allowed_providers',
  detail: 'no provider of {model} may be used{providers}',
} as const;
const COLLECTION = {
  code: 'privacy_restricted',
  excludedBy: 'data_policy:training',
  detail: 'no provider of {model} leaves prompts unused and unkept{providers}',
} as const;
const ZDR = {
  code: 'privacy_restricted',
  excludedBy: 'data_policy:zdr',
  detail: 'no provider of {model} has zero data retention{providers}',
} as const;
const REGION = {
  code: 'region_restricted',
  excludedBy: 'data_region',
  detail: 'no provider of {model} serves in a region that may be used{providers}',
} as const;

export function forbiddenBy({ owner }: RoutePolicy, { member, code, excludedBy, detail }: Rule): Reason {
  const whose = owner === undefined ? 'policy' : `policy of the ${owner}`;
  const message = `Blocked by the ${whose} (${member}): ${detail}`;
  const field = `${owner === undefined ? '' : `${owner}.`}policy.${member}`;
  return { error: 'permission_denied', code, message, excludedBy, constraint: { field, detail: message } };
}
