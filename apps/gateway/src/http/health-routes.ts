import type { Readiness } from '@libs/platform';
import type { FastifyReply } from 'fastify';

/**
 * Answers liveness and readiness checks on the public port as well, without details, for load balancers that see no
 * other port.
 */
export async function answerHealth(path: string, readiness: Readiness, reply: FastifyReply): Promise<FastifyReply> {
  const isLiveness = path === '/health/live';
  const ready = isLiveness || (await readiness.report()).ready;
  const status = isLiveness ? 'live' : ready ? 'ready' : 'not_ready';
  return reply
    .status(ready ? 200 : 503)
    .headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .send(JSON.stringify({ status }));
}
