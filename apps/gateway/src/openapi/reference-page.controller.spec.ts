import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { EdgePools } from '../http/edge-pools';
import type { LiveRequest } from '../http/in-flight';
import { RequestClaim } from '../http/request-claim';
import { ReferencePageController } from './reference-page.controller';

/** Takes what a handler sends. */
class Reply {
  readonly sent: Record<string, unknown> = {};
  body: unknown;
  header(name: string, value: unknown): this {
    return this.headers({ [name]: value });
  }
  headers(values: Record<string, unknown>): this {
    Object.assign(this.sent, values);
    return this;
  }
  status(): this {
    return this;
  }
  send(body: unknown): this {
    this.body = body;
    return this;
  }
}

async function textOf(
  file: string,
  claim = new RequestClaim(new EdgePools()),
): Promise<{ type: unknown; text: string }> {
  const reply = new Reply();
  const request = { headers: {}, life: { claim } } as unknown as LiveRequest;
  await new ReferencePageController().file(file, request, reply as unknown as FastifyReply);
  const { 'content-type': type } = reply.sent;
  return { type, text: String(reply.body ?? '') };
}

describe(ReferencePageController.name, () => {
  it('sends a page that runs in a sandbox and holds no inline script', () => {
    const reply = new Reply();
    new ReferencePageController().show(reply as unknown as FastifyReply);
    const policy = String(reply.sent['content-security-policy']);
    expect(policy).toMatch(/^sandbox allow-scripts /);
    expect(policy).not.toMatch(/allow-same-origin|unsafe-|https?:/);
    expect(String(reply.body)).not.toMatch(/<script>|<style|https?:/);
  });

  it.each([
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ])('sends %s of the package', async (file, type) => {
    const sent = await textOf(file);
    expect(sent).toMatchObject({ type, text: readFileSync(require.resolve(`swagger-ui-dist/${file}`), 'utf8') });
  });

  it('keeps no place while its reader takes a file', async () => {
    const pools = new EdgePools();
    const claim = new RequestClaim(pools);
    claim.work({ isPublic: true, holders: ['192.0.2.1'] });
    expect(pools.publicWorking.taken).toBe(1);
    await textOf('swagger-ui-bundle.js', claim);
    expect(pools.publicWorking.taken).toBe(0);
  });

  it('sends the script that starts the page', async () => {
    expect((await textOf('start.js')).text).toContain("url: 'api/v1/openapi.json'");
  });

  it.each(['swagger-ui-bundle.js.map', 'package.json', '..', '../package.json', 'constructor', ''])(
    'knows no other file: %j',
    async (file) => {
      await expect(textOf(file)).rejects.toMatchObject({ code: 'not_found' });
    },
  );
});
