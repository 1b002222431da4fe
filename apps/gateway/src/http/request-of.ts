import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The request of a route. `switchToHttp` would make three functions to hand it over, for each guard of each request. */
export function requestOf<T extends FastifyRequest>(context: ArgumentsHost): T {
  return context.getArgByIndex<T>(0);
}
