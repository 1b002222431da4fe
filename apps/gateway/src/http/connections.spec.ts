import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { limitConnections } from './connections';
import { EdgePools } from './edge-pools';
import { RequestClaim } from './request-claim';

describe(limitConnections.name, () => {
  let server: Server;
  let sockets: Socket[];
  let pools: EdgePools;
  /** Ports of the clients whose requests have arrived. */
  let asking: Set<number | undefined>;

  const limited = (trustedProxies: readonly string[] = []) =>
    limitConnections(server, { most: 20, closable: pools.connections, trustedProxies });

  beforeEach(async () => {
    sockets = [];
    asking = new Set();
    pools = new EdgePools();
    server = createServer((request, response) => {
      asking.add(request.socket.remotePort);
      const isPublic = request.url !== '/called';
      new RequestClaim(pools, request.socket).work({ isPublic, holders: ['one', 'all'] });
      if (request.url === '/') response.end('served');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** Returns how many of `count` connections from one address are answered. */
  async function answeredOf(count: number, localAddress: string, path = '/'): Promise<number> {
    const { port } = server.address() as AddressInfo;
    const answers = Array.from({ length: count }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return new Promise<number>((resolve) => {
        socket
          .on('error', () => resolve(0))
          .on('data', () => resolve(1))
          .on('close', () => resolve(0));
      });
    });
    return (await Promise.all(answers)).reduce((sum, one) => sum + one, 0);
  }

  /** Resolves when each connection is closed or has a request. */
  async function settled(): Promise<void> {
    const isSettled = ({ destroyed, localPort }: Socket): boolean => destroyed || asking.has(localPort);
    while (!sockets.every(isSettled)) await new Promise(setImmediate);
  }

  /** Opens connections on which requests of known callers run that get no answer. */
  async function keepBusy(count: number, localAddress: string, taken: () => number): Promise<void> {
    const before = taken();
    void answeredOf(count, localAddress, '/called');
    while (taken() < Math.min(20, before + count)) await new Promise(setImmediate);
    const reached = performance.now() + 100;
    while (performance.now() < reached) await new Promise(setImmediate);
  }

  it('leaves connections for other peers', async () => {
    const pool = limited();
    let taken = 0;
    void answeredOf(30, '127.0.0.1', '/slow');
    while (taken !== pool.taken || taken === 0) {
      taken = pool.taken;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(pool.taken).toBe(16);
    expect(await answeredOf(1, '127.0.0.2')).toBe(1);
    for (const socket of sockets) socket.destroy();
    while (pool.taken > 0) await new Promise(setImmediate);
    expect(await answeredOf(1, '127.0.0.1')).toBe(1);
  });

  it('lets a trusted proxy have all of them, and no more', async () => {
    limited(['127.0.0.0/8']);
    expect(await answeredOf(30, '127.0.0.1')).toBe(20);
  });

  it('closes resting connections of the peers that have the most, for one that has fewer', async () => {
    const pool = limited();
    for (const peer of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']) await answeredOf(16, peer);
    expect(pool.taken).toBeGreaterThan(16);
    for (let count = 0; count < 4; count += 1) expect(await answeredOf(1, '127.0.0.1')).toBe(1);
    expect(pool.taken).toBeLessThanOrEqual(20);
    for (const socket of sockets) socket.destroy();
    while (pool.taken > 0) await new Promise(setImmediate);
  });

  it('closes connections of strangers whose requests do not end', async () => {
    const pool = limited();
    for (const peer of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']) {
      void answeredOf(16, peer, '/slow');
      await settled();
    }
    expect(pool.taken).toBeGreaterThan(16);
    for (let count = 0; count < 3; count += 1) expect(await answeredOf(1, '127.0.0.1')).toBe(1);
    expect(pool.taken).toBeLessThanOrEqual(20);
  });

  it('closes none on which a request of a known caller runs, and none of a proxy', async () => {
    const pool = limited(['127.0.0.9/32']);
    expect(await answeredOf(10, '127.0.0.9')).toBe(10);
    await keepBusy(5, '127.0.0.2', () => pool.taken);
    await keepBusy(3, '127.0.0.3', () => pool.taken);
    await keepBusy(1, '127.0.0.4', () => pool.taken);
    await keepBusy(1, '127.0.0.5', () => pool.taken);
    expect(pool.taken).toBe(20);
    expect(await answeredOf(1, '127.0.0.1')).toBe(0);
    expect(sockets.filter((socket) => socket.destroyed)).toHaveLength(1);
  });
});
