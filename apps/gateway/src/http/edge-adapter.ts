import { FastifyAdapter } from '@nestjs/platform-fastify';
import { edgeServerOptions } from './edge';

/**
 * Creates Nest's adapter over a server with the HTTP limits.
 * @param trustedProxies address ranges whose `X-Forwarded-For` is trusted
 */
export function createEdgeAdapter(trustedProxies: readonly string[] = []): FastifyAdapter {
  return new FastifyAdapter({ ...edgeServerOptions(trustedProxies), skipMiddie: true });
}
