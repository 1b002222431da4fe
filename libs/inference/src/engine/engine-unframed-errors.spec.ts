import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { AppError } from '@libs/errors';
import { aModel, anEndpoint, anEngine, aProvider } from '../testing';

const APIS = ['chat', 'responses', 'messages'] as const;
type Api = (typeof APIS)[number];

const BODIES: Readonly<Record<Api, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 },
};

const FORBIDDEN = { type: 'invalid_request_error', code: 'content_policy_violation', message: 'Not allowed' };
const json = (error: unknown): string => JSON.stringify({ error });

/** Answers with status 200 to a stream, and the code of the error that the caller gets. */
const ANSWERS: Readonly<Record<string, readonly [body: string, code: string]>> = {
  'that the rate is limited': [json({ message: 'Slow down', code: 'rate_limit_exceeded' }), 'rate_limit_exceeded'],
  'that the rate is limited, as a number': [json({ message: 'Slow down', code: 429 }), 'rate_limit_exceeded'],
  'that the prompt is forbidden': [json(FORBIDDEN), 'content_policy_violation'],
  'it in several lines': [`\n${JSON.stringify({ error: FORBIDDEN }, null, 2)}\n`, 'content_policy_violation'],
  'it in a list': [JSON.stringify([{ error: FORBIDDEN }]), 'content_policy_violation'],
  'an overload': [json({ message: 'Busy', type: 'overloaded_error' }), 'provider_overloaded'],
  'an outage': [json({ message: 'Crashed', code: 'server_error' }), 'provider_unavailable'],
  nothing: [JSON.stringify({ id: 'up-1', choices: [] }), 'provider_unavailable'],
  'half of it': [json(FORBIDDEN).slice(0, 40), 'provider_unavailable'],
  'more than is read of an error': [json({ ...FORBIDDEN, more: 'x'.repeat(70_000) }), 'provider_unavailable'],
};

async function codeOf(caller: Api, upstream: Api, body: string, isSplit: boolean): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const middle = isSplit ? Math.floor(body.length / 2) : 0;
      response.write(body.slice(0, middle), () => setImmediate(() => response.end(body.slice(middle))));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const provider = aProvider({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKeyEnv: null,
    protocol: upstream === 'messages' ? 'anthropic' : 'openai',
  });
  const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: [upstream] })] })]);
  const thrown: unknown = await engine
    .stream(caller, {
      generationId: 'gen-1-abc',
      model: 'acme/large',
      signal: new AbortController().signal,
      body: Buffer.from(JSON.stringify({ model: 'acme/large', stream: true, ...BODIES[caller] })),
    })
    .then(
      () => new Error('the call succeeded'),
      (error: unknown) => error,
    );
  await http.close();
  server.close();
  if (!(thrown instanceof AppError)) throw thrown;
  return thrown.code;
}

describe('a stream that a provider answers with JSON', () => {
  it.each(Object.entries(ANSWERS))('ends with the error where it reports %s', async (_name, [body, code]) => {
    for (const caller of APIS) {
      for (const upstream of APIS) {
        expect([caller, upstream, await codeOf(caller, upstream, body, false)]).toEqual([caller, upstream, code]);
        expect([caller, upstream, await codeOf(caller, upstream, body, true)]).toEqual([caller, upstream, code]);
      }
    }
  });
});
