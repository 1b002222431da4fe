import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { freePorts, isPortFree } from './ports';

describe(freePorts.name, () => {
  it('finds different ports on which one can listen, and none that an outgoing connection may be given', async () => {
    const ports = await freePorts(50);
    expect(new Set(ports).size).toBe(50);
    for (const port of ports) {
      expect(port).toBeGreaterThanOrEqual(22_000);
      expect(port).toBeLessThan(32_768);
      expect(await isPortFree(port)).toBe(true);
    }
  });

  it('gives a port to one caller only, also before a server listens there', async () => {
    const [port = 0] = await freePorts(1);
    const nextOf = [port, port, port + 1, port + 2, port + 3];
    const [other] = await freePorts(1, () => nextOf.shift() ?? port);
    expect(other).not.toBe(port);
    await expect(freePorts(1, () => port)).rejects.toThrow('the system has no free port');
    expect(await isPortFree(port)).toBe(true);
  });
});

describe(isPortFree.name, () => {
  it('knows a port on which somebody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await isPortFree(port)).toBe(false);
    server.close();
    await once(server, 'close');
    expect(await isPortFree(port)).toBe(true);
  });
});
