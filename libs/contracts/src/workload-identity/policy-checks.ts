import { findElementsProblem, findMembersProblem, findUnknownMember, oneOf, text } from '../validation/member-checks';
import { IsWellFormed } from '../validation/well-formed';

export const CHECK_KINDS = ['scopes', 'token_type'] as const;

/**
 * A further requirement on the claims of a token: `scopes` requires the value in the array `scopes`; `token_type`
 * requires the claim of that name to equal the value. Case-sensitive.
 */
export interface PolicyCheck {
  kind: (typeof CHECK_KINDS)[number];
  value: string;
}

const MAX_CHECKS = 16;
/** Longest claim with which a policy compares. */
export const MAX_CLAIM_LENGTH = 512;

const MEMBERS = { kind: oneOf(...CHECK_KINDS), value: text(1, MAX_CLAIM_LENGTH) };

function findCheckProblem(check: unknown): string | null {
  const given = (check ?? {}) as Partial<PolicyCheck>;
  if (given.kind === undefined || given.kind === null) return '.kind is required';
  if (given.value === undefined || given.value === null) return '.value is required';
  return (
    findMembersProblem(check, MEMBERS) ?? findUnknownMember(given as Record<string, unknown>, Object.keys(MEMBERS))
  );
}

export function ArePolicyChecks(): PropertyDecorator {
  return IsWellFormed((value) => findElementsProblem(value, 0, MAX_CHECKS, findCheckProblem));
}
