import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Egress } from './egress';

/** A host that accepts connections and never answers the TLS handshake. */
describe('a host that begins no TLS', () => {
  const open = new Set<Socket>();
  let server: Server;
  let url: string;
  let egress: Egress;

  beforeAll(async () => {
    server = createServer((socket) => {
      open.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => open.delete(socket))
        .resume();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `https://localhost:${(server.address() as AddressInfo).port}/`;
    egress = new Egress({
      allowCidrs: ['127.0.0.0/8'],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
  });

  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('keeps no connection once the time is up', async () => {
    const asked = Array.from({ length: 20 }, () => egress.fetch(url, { maxBytes: 0, timeoutMs: 2_000 }));
    const ends = Promise.allSettled(asked);
    await until(() => open.size === 20);
    for (const one of await ends) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'timeout' } });
    await until(() => open.size === 0);
  });

  it('is left as soon as the caller wants that', async () => {
    const caller = new AbortController();
    const asked = egress.fetch(url, { maxBytes: 0, timeoutMs: 50_000, signal: caller.signal });
    const ends = Promise.allSettled([asked]);
    await until(() => open.size === 1);
    caller.abort(new Error('left'));
    expect(await ends).toMatchObject([{ reason: { message: 'left' } }]);
    await until(() => open.size === 0);
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 150; tries += 1) await delay(10);
  expect(holds()).toBe(true);
}
