import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from './eventually';
import { FaultProxy } from './fault-proxy';

let server: Server;
let accepted: Socket[];
let proxy: FaultProxy;
let clients: Socket[];

beforeEach(async () => {
  accepted = [];
  clients = [];
  // An echo server that closes its side when its client does.
  server = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await FaultProxy.start({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
});

afterEach(async () => {
  for (const socket of [...clients, ...accepted]) socket.destroy();
  await proxy.close();
  server.close();
});

interface Client {
  readonly socket: Socket;
  readonly chunks: Buffer[];
  readonly text: () => string;
  /** How the connection ended. */
  readonly ending: Promise<'fin' | 'rst'>;
}

async function dial(): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1');
  clients.push(socket);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ending = new Promise<'fin' | 'rst'>((resolve) => {
    socket.on('end', () => resolve('fin'));
    socket.on('error', () => resolve('rst'));
  });
  await once(socket, 'connect');
  return { socket, chunks, ending, text: () => Buffer.concat(chunks).toString() };
}

async function echo(client: Client, text: string): Promise<void> {
  const due = client.text() + text;
  client.socket.write(text);
  await eventually('the echo', 5_000, () => (client.text() === due ? true : undefined));
}

describe(FaultProxy.name, () => {
  it('passes bytes both ways, and the end of either side', async () => {
    const client = await dial();
    await echo(client, 'hello');
    client.socket.end();
    expect(await client.ending).toBe('fin');
    await eventually('the link closes', 5_000, () => (proxy.connections === 0 ? true : undefined));
  });

  it('carries megabytes unchanged', async () => {
    const client = await dial();
    const bytes = Buffer.alloc(20 * 1_048_576, 'storm');
    client.socket.write(bytes);
    await eventually('all of it', 20_000, () =>
      client.chunks.reduce((sum, { length }) => sum + length, 0) === bytes.length ? true : undefined,
    );
    expect(Buffer.concat(client.chunks).equals(bytes)).toBe(true);
  });

  it.each(['rst', 'fin'] as const)('cuts every connection by %s, and accepts new ones', async (kind) => {
    const some = [await dial(), await dial()];
    for (const client of some) await echo(client, 'a');
    proxy.cutAll(kind);
    expect(await Promise.all(some.map(({ ending }) => ending))).toEqual([kind, kind]);
    await echo(await dial(), 'b');
  });

  it('cuts one connection and leaves the others', async () => {
    const some = [await dial(), await dial(), await dial()];
    for (const client of some) await echo(client, 'a');
    proxy.cutOne('rst', 0.5);
    expect(await some[1]!.ending).toBe('rst');
    await echo(some[0]!, 'b');
    await echo(some[2]!, 'b');
  });

  it('refuses connections until it accepts again', async () => {
    const before = await dial();
    proxy.refuse();
    expect(await before.ending).toBe('rst');
    await expect(dial().then(({ ending }) => ending.then((how) => Promise.reject(new Error(how))))).rejects.toThrow(
      /ECONNRESET|rst/,
    );
    proxy.accept();
    await echo(await dial(), 'a');
  });

  it('delays both directions', async () => {
    const client = await dial();
    proxy.impair({ delayMs: 150 });
    const startedAt = performance.now();
    await echo(client, 'late');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(295);
  });

  it('limits the bandwidth', async () => {
    const client = await dial();
    proxy.impair({ bytesPerSecond: 20_000 });
    const startedAt = performance.now();
    await echo(client, 'x'.repeat(10_000));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(400);
  });

  it('slices what it passes on', async () => {
    const client = await dial();
    proxy.impair({ sliceBytes: 3 });
    await echo(client, 'abcdefghij');
    expect(Math.max(...client.chunks.map(({ length }) => length))).toBeLessThanOrEqual(3);
  });

  it.each(['up', 'down'] as const)(
    'stalls one direction (%s): it accepts, reads and passes nothing on',
    async (way) => {
      proxy.impair({ stalled: [way] });
      const client = await dial();
      client.socket.write('x'.repeat(100_000));
      await eventually('the proxy has read all', 5_000, () => (client.socket.writableLength === 0 ? true : undefined));
      await delay(100);
      expect(client.text()).toBe('');
      const reached = await eventually('the server side', 5_000, () => accepted[0]);
      expect(reached.bytesRead).toBe(way === 'up' ? 0 : 100_000);
      proxy.heal();
      await eventually('it arrives', 5_000, () => (client.text().length === 100_000 ? true : undefined));
    },
  );

  it('cuts on healing the connections that held bytes back, when asked to', async () => {
    const [quiet, busy] = [await dial(), await dial()];
    await echo(quiet, 'a');
    proxy.impair({ stalled: ['up', 'down'] });
    busy.socket.write('held');
    await eventually('the proxy has read it', 5_000, () => (busy.socket.bytesWritten === 4 ? true : undefined));
    await delay(50);
    proxy.heal(true);
    expect(await busy.ending).toBe('rst');
    await echo(quiet, 'b');
  });
});
