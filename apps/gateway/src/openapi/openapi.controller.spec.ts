import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply } from 'fastify';
import type { LiveRequest } from '../http/in-flight';
import { OpenapiController } from './openapi.controller';

/** What was answered. */
class Answer {
  code = 200;
  headers: Record<string, string> = {};
  body: unknown;
}

async function ask(ifNoneMatch?: string): Promise<Answer> {
  const answer = new Answer();
  const reply = {
    headers: (given: Record<string, string>) => (Object.assign(answer.headers, given), reply),
    header: (name: string, value: string) => ((answer.headers[name] = value), reply),
    status: (code: number) => ((answer.code = code), reply),
    send: (body?: unknown) => ((answer.body = body), reply),
  };
  const life = { claim: { worked: () => undefined } };
  const request = { headers: { 'if-none-match': ifNoneMatch }, life } as unknown as LiveRequest;
  await new OpenapiController().show(request, reply as unknown as FastifyReply);
  return answer;
}

describe(OpenapiController.name, () => {
  it('answers the document with its tag', async () => {
    const { code, headers, body } = await ask();
    expect(code).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
    expect(headers['cache-control']).toMatch(/^public, max-age=\d+$/);
    expect(body).toEqual(readFileSync(join(__dirname, 'openapi.json')));
  });

  it.each([(tag: string) => tag, (tag: string) => `"other", W/${tag}`, () => '*'])(
    'sends nothing to who has it: %s',
    async (given) => {
      const { headers } = await ask();
      const known = await ask(given(headers['etag']!));
      expect([known.code, known.body, known.headers['etag']]).toEqual([304, undefined, headers['etag']]);
    },
  );

  it('answers whole to who has another', async () => {
    expect((await ask('"other"')).code).toBe(200);
  });
});
