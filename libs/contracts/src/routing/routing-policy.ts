import {
  findElementsProblem,
  findUnknownMember,
  isBoolean,
  oneOf,
  type MemberCheck,
} from '../validation/member-checks';
import { IsWellFormed, isNonEmptyString, isPlainObject } from '../validation/well-formed';

/** Where prompts may be processed; `global` is anywhere. */
export const DATA_REGIONS = ['global', 'europe', 'us'] as const;
export type DataRegion = (typeof DATA_REGIONS)[number];

/**
 * Where the calls of a workspace or key may be routed, whatever a call prefers. Absent fields forbid nothing. Providers
 * are named by slug or display name as in the `provider` object of a request, models by slug.
 */
export interface RoutingPolicy {
  readonly allowed_providers?: readonly string[];
  readonly ignored_providers?: readonly string[];
  readonly allowed_models?: readonly string[];
  readonly ignored_models?: readonly string[];
  /** Tools that a provider or the gateway runs, from `POLICY_TOOLS`; functions of the caller's are always allowed. */
  readonly allowed_tools?: readonly string[];
  readonly ignored_tools?: readonly string[];
  readonly allowed_data_regions?: readonly DataRegion[];
  /** True: only endpoints with zero data retention. */
  readonly zdr?: boolean;
  /** `deny`: only endpoints that neither store prompts nor train on them. */
  readonly data_collection?: 'allow' | 'deny';
}

/** Tools that a policy can name, without the version of a type. */
export const POLICY_TOOLS = [
  'advisor',
  'code_interpreter',
  'computer_use',
  'datetime',
  'file_search',
  'image_generation',
  'mcp',
  'shell',
  'tool_search',
  'web_fetch',
  'web_search',
  'x_search',
] as const;

/** A policy, and whether the workspace or the key has it. */
export interface OwnedPolicy {
  readonly owner: 'workspace' | 'key';
  readonly policy: RoutingPolicy;
}

const MAX_NAMES = 200;
const MAX_NAME_LENGTH = 256;

const isName: MemberCheck = (value) => {
  const fits =
    isNonEmptyString(value) && value.length <= MAX_NAME_LENGTH && value.isWellFormed() && !/\p{Cc}/u.test(value);
  return fits ? null : ` must be text of 1 to ${MAX_NAME_LENGTH} characters without control characters`;
};
const areNames: MemberCheck = (value) => findElementsProblem(value, 1, MAX_NAMES, isName);

const areTools: MemberCheck = (value) => findElementsProblem(value, 1, POLICY_TOOLS.length, oneOf(...POLICY_TOOLS));

const CHECKS: Readonly<Record<keyof RoutingPolicy, MemberCheck>> = {
  allowed_providers: areNames,
  ignored_providers: areNames,
  allowed_models: areNames,
  ignored_models: areNames,
  allowed_tools: areTools,
  ignored_tools: areTools,
  allowed_data_regions: (value) => findElementsProblem(value, 1, DATA_REGIONS.length, oneOf(...DATA_REGIONS)),
  zdr: isBoolean,
  data_collection: oneOf('allow', 'deny'),
};

/**
 * Returns what is wrong with a policy, beginning with the path inside it, or null. Refuses unknown fields, because a
 * mistyped one would silently forbid nothing. Null is refused for the same reason.
 */
export function findRoutingPolicyProblem(value: unknown): string | null {
  if (!isPlainObject(value)) return ' must be an object';
  const unknown = findUnknownMember(value, Object.keys(CHECKS));
  if (unknown !== null) return unknown;
  for (const [name, member] of Object.entries(value)) {
    const problem = CHECKS[name as keyof RoutingPolicy](member);
    if (problem !== null) return `.${name}${problem}`;
  }
  return null;
}

export function IsRoutingPolicy(): PropertyDecorator {
  return IsWellFormed(findRoutingPolicyProblem);
}

/** Returns the regions in which all of these policies allow prompts to be processed. */
export function allowedDataRegions(policies: readonly OwnedPolicy[]): readonly DataRegion[] {
  const narrowed = policies.flatMap(({ policy: { allowed_data_regions: regions } }) =>
    regions === undefined || regions.includes('global') ? [] : [regions],
  );
  if (narrowed.length === 0) return ['global'];
  return DATA_REGIONS.filter((region) => narrowed.every((regions) => regions.includes(region)));
}
