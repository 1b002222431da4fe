import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { FastifyRequest } from 'fastify';

/** A request that passed the authentication guard of a route that is not public. */
export interface AuthenticatedRequest extends FastifyRequest {
  principal?: Principal;
  /**
   * Records in the audit trail that a later guard refused the call; absent if the calls of the route are not recorded.
   */
  noteRefusal?: (status: number) => void;
}

/** Returns the caller. Must only be used in routes that are not public. */
export function principalOf(request: AuthenticatedRequest): Principal {
  if (request.principal) return request.principal;
  throw new AppError('server', 'Internal error', { internal: 'a public route asked who is calling' });
}
