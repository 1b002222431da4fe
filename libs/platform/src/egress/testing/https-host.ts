import { createServer, type Server } from 'node:https';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { selfSignedCertificate, type SelfSignedCertificate } from './self-signed-certificate';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** An HTTPS server on loopback that remembers what it was asked. */
export class HttpsHost {
  readonly requests: ReceivedRequest[] = [];
  /** Connections that came, whether or not a request followed. */
  connections = 0;
  #server!: Server;

  private constructor(
    readonly certificate: string,
    private answer: RequestListener,
  ) {}

  static async start(
    answer: RequestListener,
    identity: SelfSignedCertificate = selfSignedCertificate(),
  ): Promise<HttpsHost> {
    const host = new HttpsHost(identity.certificate, answer);
    host.#server = createServer({ key: identity.key, cert: identity.certificate }, (request, response) => {
      host.requests.push({ method: request.method!, path: request.url!, headers: request.headers });
      host.answer(request, response);
    });
    host.#server.on('connection', () => {
      host.connections += 1;
    });
    await new Promise<void>((resolve) => host.#server.listen(0, '127.0.0.1', resolve));
    return host;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/', hostname = '127.0.0.1'): string {
    return `https://${hostname}:${this.port}${path}`;
  }

  /** Answers from now on. */
  answerWith(answer: RequestListener): void {
    this.answer = answer;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
