import { Readable } from 'node:stream';
import fastify from 'fastify';
import { Pool } from 'undici';

/** What a gateway cannot be cheaper than: the same framework and client, and nothing done in between. */
const { origin, pathname } = new URL(process.env.UPSTREAM_URL ?? '');
const prefix = pathname.replace(/\/$/, '');
const upstream = new Pool(origin, { connections: 1_024, pipelining: 1 });
const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 33_554_432 }, (_request, body, done) => done(null, body));
// A form is passed on as it comes.
app.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload));
app.get('/health', async () => ({}));
app.post('/api/v1/*', async (request, reply) => {
  const { 'content-type': formType, 'content-length': length } = request.headers;
  const answer = await upstream.request({
    method: 'POST',
    path: `${prefix}/v1${request.url.slice('/api/v1'.length)}`,
    headers: {
      ...(request.body instanceof Readable
        ? { 'content-type': formType, 'content-length': length }
        : { 'content-type': 'application/json' }),
      authorization: `Bearer ${process.env.SANDBOX_API_KEY ?? ''}`,
    },
    body: request.body as Buffer | Readable,
  });
  const type = String(answer.headers['content-type']);
  reply.status(answer.statusCode).header('content-type', type);
  return type === 'application/json' ? Buffer.from(await answer.body.arrayBuffer()) : answer.body;
});
void app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.on('SIGTERM', () => process.exit(0));
