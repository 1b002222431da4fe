import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Binds for a moment; null when something else holds the port. 0 lets the system pick. */
async function tryBind(port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen(port, '0.0.0.0');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch {
    return null;
  } finally {
    server.close();
  }
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await tryBind(port)) !== null;
}

/** `count` different free ports, all found before the first is given back. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = await tryBind(0);
    if (port === null) throw new Error('the system has no free port');
    ports.add(port);
  }
  return [...ports];
}
