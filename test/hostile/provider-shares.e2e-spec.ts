import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { catalogueOf } from '../support/catalogue';
import { eventually } from '../support/eventually';
import type { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';

const MODEL = 'hostile/endless';
const CONNECTIONS = 10;
/** Four fifths of the connections, and as many places in the line for them. */
const MOST_OF_ONE = 16;

/** Streams that never end. */
class EndlessModel {
  readonly open = new Set<ServerResponse>();
  private readonly server: Server = createServer((request, response) => {
    request.resume().on('end', () => {
      const chunk = { id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'a' } }] };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      this.open.add(response);
      response.on('close', () => this.open.delete(response));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

describe('a provider whose connections one workspace holds', () => {
  const model = new EndlessModel();
  let installation: Installation;
  let greedy: Tenant;
  let other: Tenant;

  beforeAll(async () => {
    const baseUrl = await model.start();
    const pricing = { prompt: '0.0000001', completion: '0.0000001' };
    const catalogue = catalogueOf([
      { slug: MODEL, provider: 'hostile', baseUrl, maxConcurrency: CONNECTIONS, pricing },
    ]);
    installation = await shareInstallation({ catalogue, apps: ['auth', 'gateway'] });
    const operator = new Operator(installation);
    greedy = await operator.createTenant('greedy', '100');
    other = await operator.createTenant('other', '100');
  });

  afterAll(async () => {
    await giveBack(installation);
    model.stop();
  });

  async function stream(key: string, signal: AbortSignal): Promise<number> {
    const body = { model: MODEL, max_tokens: 8, stream: true, messages: [{ role: 'user', content: 'hi' }] };
    const response = await fetch(`${installation.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    return response.status;
  }

  it('has connections left for another', async () => {
    const end = new AbortController();
    const statuses: number[] = [];
    const all = Array.from({ length: 2 * CONNECTIONS }, async () => {
      statuses.push(await stream(greedy.apiKey, end.signal));
    });
    const settled = Promise.allSettled(all);
    const answered = 2 * CONNECTIONS - MOST_OF_ONE / 2;
    await eventually('all are answered or wait', 20_000, () => (statuses.length === answered ? true : undefined));
    expect(statuses.filter((status) => status === 503)).toHaveLength(2 * CONNECTIONS - MOST_OF_ONE);
    expect(await stream(other.apiKey, end.signal)).toBe(200);
    end.abort();
    await settled;
  });
});
