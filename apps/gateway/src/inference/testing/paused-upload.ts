import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';

/** A body that is sent as far as a test says, and then further. */
export class PausedUpload {
  readonly answer: Promise<{ readonly status: number; readonly body: unknown }>;
  isEnded = false;
  readonly #request: ClientRequest;
  #sent = 0;

  /** @param headers in addition to Content-Length, which is that of the body unless they have a Transfer-Encoding */
  constructor(
    url: string,
    headers: Readonly<Record<string, string>>,
    private readonly body: Buffer,
  ) {
    const length = headers['transfer-encoding'] === undefined ? { 'content-length': body.length } : {};
    this.#request = request(url, { method: 'POST', headers: { ...headers, ...length } });
    this.answer = this.#read();
    this.answer.catch(() => undefined);
  }

  /** Sends the body on to `end`. */
  async sendTo(end: number): Promise<void> {
    const piece = this.body.subarray(this.#sent, end);
    this.#sent = end;
    await new Promise((resolve) => this.#request.write(piece, resolve));
  }

  /** Sends what is left. */
  end(): void {
    this.isEnded = true;
    this.#request.end(this.body.subarray(this.#sent));
  }

  leave(): void {
    this.#request.destroy();
  }

  async #read(): Promise<{ status: number; body: unknown }> {
    const [response] = (await once(this.#request, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode!, body: JSON.parse(Buffer.concat(chunks).toString()) as unknown };
  }
}
