import { FastifyAdapter } from '@nestjs/platform-fastify';
import { edgeServerOptions } from './edge';

/**
 * Nest's adapter over a server with the limits of the edge.
 *
 * @param trustedProxies ranges of addresses whose `X-Forwarded-For` is believed
 */
export function createEdgeAdapter(trustedProxies: readonly string[] = []): FastifyAdapter {
  return new FastifyAdapter({ ...edgeServerOptions(trustedProxies), skipMiddie: true });
}
