import type { RoutingPolicy } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { findUnknownName, type Catalogue } from '@libs/inference';

/** Checks that policies name only what exists: a mistyped name among the ignored ones would forbid nothing. */
export class PolicyNames {
  constructor(private readonly catalogue: () => Catalogue) {}

  /** The policy as it was given. @throws AppError invalid_request naming the place of a name that is not known */
  check<Policy extends RoutingPolicy | null | undefined>(policy: Policy): Policy {
    const place = policy ? findUnknownName(policy, this.catalogue()) : null;
    if (place === null) return policy;
    const param = `policy.${place}`;
    throw new AppError('invalid_request', `${param} names nothing that is known here`, { metadata: { param } });
  }
}
