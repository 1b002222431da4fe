import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { FastifyRequest } from 'fastify';

/** A request that passed the guard of a route that is not public. */
export interface AuthenticatedRequest extends FastifyRequest {
  principal?: Principal;
  /** Notes in the audit trail that a later guard refuses the call; absent where calls leave no entries. */
  noteRefusal?: (status: number) => void;
}

/** Returns who is calling. Call it only in routes that are not public. */
export function principalOf(request: AuthenticatedRequest): Principal {
  if (request.principal) return request.principal;
  throw new AppError('server', 'Internal error', { internal: 'a public route asked who is calling' });
}
