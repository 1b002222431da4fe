import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface SeenRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** One answer: a status, and a text or an object that is sent as JSON. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | object;
}

/** A provider of reports on loopback; null leaves a request without an answer. */
export class ReportServer {
  readonly seen: SeenRequest[] = [];

  private constructor(
    private readonly server: Server,
    readonly baseUrl: string,
  ) {}

  static async start(answer: (request: SeenRequest) => Answer | null): Promise<ReportServer> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
      const seen = { path: pathname, query: searchParams, headers: request.headers };
      started.seen.push(seen);
      const given = answer(seen);
      if (given === null) return;
      const { status = 200, headers = {}, body } = given;
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const started = new ReportServer(server, `http://127.0.0.1:${port}/v1`);
    return started;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }
}

/** The text of an answer in `fixtures`. */
export function fixture(name: string): string {
  return readFileSync(join(__dirname, 'fixtures', `${name}.json`), 'utf8');
}
