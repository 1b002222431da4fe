import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SearchRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A search service (or any service that speaks JSON) on loopback. */
export class SearchServer {
  readonly requests: SearchRequest[] = [];
  /** What the next answers say; a function writes them itself. */
  answer: object | ((response: ServerResponse) => void) = {};

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SearchServer> {
    const server = createServer();
    const self = new SearchServer(server);
    server.on('request', (request, response) => void self.serve(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return self;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    this.requests.push({
      method: request.method!,
      url: new URL(request.url!, this.url),
      headers: request.headers,
      body: text === '' ? null : JSON.parse(text),
    });
    if (typeof this.answer === 'function') this.answer(response);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.answer));
  }
}
