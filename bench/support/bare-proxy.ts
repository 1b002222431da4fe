import fastify from 'fastify';
import { Pool } from 'undici';

/** What a gateway cannot be cheaper than: the same framework and client, and nothing done in between. */
const upstream = new Pool(process.env.UPSTREAM_URL ?? '', { connections: 512, pipelining: 1 });
const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 33_554_432 }, (_request, body, done) => done(null, body));
app.get('/health', async () => ({}));
app.post('/api/v1/chat/completions', async (request, reply) => {
  const answer = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.SANDBOX_API_KEY ?? ''}` },
    body: request.body as Buffer,
  });
  reply.status(answer.statusCode).header('content-type', 'application/json');
  return Buffer.from(await answer.body.arrayBuffer());
});
void app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.on('SIGTERM', () => process.exit(0));
