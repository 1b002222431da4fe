import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Somebody's web site on loopback: pages of the test's, and a note of every address that was asked for. */
export class LoopbackSite {
  readonly visits: URL[] = [];
  /** By path; every other is a page that says so. */
  readonly pages = new Map<string, string>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<LoopbackSite> {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', site.origin());
      // Browsers ask for it by themselves.
      if (url.pathname !== '/favicon.ico') site.visits.push(url);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(site.pages.get(url.pathname) ?? '<p>You are back.</p>');
    });
    const site = new LoopbackSite(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return site;
  }

  /** `localhost` is another site than the address, for a browser. */
  origin(host: '127.0.0.1' | 'localhost' = '127.0.0.1'): string {
    return `http://${host}:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
