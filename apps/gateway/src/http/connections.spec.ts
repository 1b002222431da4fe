import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { limitConnections } from './connections';

describe(limitConnections.name, () => {
  let server: Server;
  let sockets: Socket[];

  beforeEach(async () => {
    sockets = [];
    server = createServer((_request, response) => response.end('served')).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** How many of so many connections from one address are answered. */
  async function answeredOf(count: number, localAddress: string): Promise<number> {
    const { port } = server.address() as AddressInfo;
    const answers = Array.from({ length: count }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      return new Promise<number>((resolve) => {
        socket
          .on('error', () => resolve(0))
          .on('data', () => resolve(1))
          .on('close', () => resolve(0));
      });
    });
    return (await Promise.all(answers)).reduce((sum, one) => sum + one, 0);
  }

  it('leaves connections for other peers', async () => {
    const pool = limitConnections(server, 20);
    expect(await answeredOf(30, '127.0.0.1')).toBe(16);
    expect(await answeredOf(1, '127.0.0.2')).toBe(1);
    for (const socket of sockets) socket.destroy();
    while (pool.taken > 0) await new Promise(setImmediate);
    expect(await answeredOf(1, '127.0.0.1')).toBe(1);
  });

  it('lets a trusted proxy have all of them, and no more', async () => {
    limitConnections(server, 20, ['127.0.0.0/8']);
    expect(await answeredOf(30, '127.0.0.1')).toBe(20);
  });
});
