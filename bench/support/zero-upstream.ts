import { createServer } from 'node:http';

/**
 * A provider without latency, as cheap as an HTTP server in Node can be: what is measured is what stands in
 * front of it. Streams come in twenty events.
 */
const answer = JSON.stringify({
  id: 'chatcmpl-0123456789',
  object: 'chat.completion',
  created: 1_763_683_200,
  model: 'sandbox-chat',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'The quick brown fox jumps over the lazy dog. '.repeat(8), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 42, completion_tokens: 80, total_tokens: 122 },
  system_fingerprint: 'fp_0123456789',
});

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return;
  }
  request.resume().on('end', () => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
      .end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
