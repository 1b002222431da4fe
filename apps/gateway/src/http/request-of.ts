import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Returns the request of a route. `switchToHttp` would create three functions for each guard of each request. */
export function requestOf<T extends FastifyRequest>(context: ArgumentsHost): T {
  return context.getArgByIndex<T>(0);
}
