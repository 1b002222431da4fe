import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askManagement } from './broker-management';

let server: Server;
let asked: string[];
/** Requests whose connection is closed before an answer. */
let toClose: number;

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (asked.length <= toClose) request.socket.destroy();
    else response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const ask = (): Promise<Response> => {
  const { port } = server.address() as AddressInfo;
  return askManagement(new URL(`http://guest:guest@127.0.0.1:${port}`), { method: 'DELETE', path: 'vhosts/x' });
};

describe(askManagement, () => {
  it('asks again when a busy broker closes the connection', async () => {
    toClose = 2;
    expect((await ask()).status).toBe(204);
    expect(asked).toEqual(Array.from({ length: 3 }, () => 'DELETE /api/vhosts/x'));
  });

  it('gives up after some tries', async () => {
    toClose = 100;
    await expect(ask()).rejects.toThrow('fetch failed');
    expect(asked).toHaveLength(5);
  });
});
