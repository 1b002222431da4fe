import type { RoutingPolicy } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { findUnknownName, type Catalogue } from '@libs/inference';

/** Checks that policies contain only known names: a mistyped name in a list of ignored ones would forbid nothing. */
export class PolicyNames {
  constructor(private readonly catalogue: () => Catalogue) {}

  /** Returns the policy unchanged. @throws AppError invalid_request with the path of an unknown name */
  check<Policy extends RoutingPolicy | null | undefined>(policy: Policy): Policy {
    const place = policy ? findUnknownName(policy, this.catalogue()) : null;
    if (place === null) return policy;
    const param = `policy.${place}`;
    throw new AppError('invalid_request', `${param} names nothing that is known here`, { metadata: { param } });
  }
}
