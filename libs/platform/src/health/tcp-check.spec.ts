import { createServer, type AddressInfo } from 'node:net';
import { Secret } from '@libs/contracts';
import { tcpCheck } from './tcp-check';

describe(tcpCheck.name, () => {
  it('says whether something listens', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const check = tcpCheck(new Secret(`postgres://user:password@127.0.0.1:${port}/x`));
    expect(await check()).toBe(true);
    await new Promise((resolve) => server.close(resolve));
    expect(await check()).toBe(false);
  });

  it.each(['not a url', 'postgres:///x', 'gopher://host/canary'])('refuses %p and does not repeat it', (url) => {
    expect(() => tcpCheck(url)).toThrow('tcpCheck needs a URL with a host and a known port');
  });

  it.each(['amqp://h/v', 'redis://h', 'postgresql://[::1]/x', 'https://h'])('knows the port of %p', (url) => {
    expect(tcpCheck(url)).toBeInstanceOf(Function);
  });
});
