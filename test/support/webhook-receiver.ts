import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpsHost } from '@libs/platform/testing';
import { eventually } from './eventually';

export interface ReceivedEvent {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came. */
  readonly text: string;
}

const PATIENCE_MS = 20_000;

/** Somebody's server that takes webhooks, on loopback, over TLS with a certificate of its own. */
export class WebhookReceiver {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-receiver-'));
  readonly events: ReceivedEvent[] = [];
  /** What the next events are answered with, one each; then 204. `hold` says nothing until the test does. */
  answers: (number | 'hold')[] = [];
  /** Paths at which every event is answered with 500. */
  readonly broken = new Set<string>();
  /** Runs between an event and its answer. */
  beforeAnswer: (event: ReceivedEvent) => Promise<void> = async () => undefined;
  readonly #held: ServerResponse[] = [];

  private constructor(private readonly host: HttpsHost) {
    writeFileSync(this.certificateFile, host.certificate);
    host.answerWith((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const event = { path: request.url ?? '', headers: request.headers, text };
        this.events.push(event);
        const answer = this.broken.has(event.path) ? 500 : (this.answers.shift() ?? 204);
        if (answer === 'hold') this.#held.push(response);
        else this.#answer(event, response, answer);
      });
    });
  }

  #answer(event: ReceivedEvent, response: ServerResponse, status: number): void {
    void this.beforeAnswer(event).finally(() => {
      if (!response.destroyed) response.writeHead(status, { location: this.url('/elsewhere') }).end();
    });
  }

  static async start(): Promise<WebhookReceiver> {
    return new WebhookReceiver(await HttpsHost.start(() => undefined));
  }

  /** For `NODE_EXTRA_CA_CERTS`. */
  get certificateFile(): string {
    return join(this.#folder, 'certificate.pem');
  }

  url(path = '/hook'): string {
    return this.host.url(path);
  }

  /** Answers what was held. */
  release(status: number): void {
    for (const response of this.#held.splice(0)) response.writeHead(status).end();
  }

  /** The first `count` events at this path, once they are there. */
  async at(path: string, count = 1): Promise<ReceivedEvent[]> {
    return eventually(`${count} events at ${path}`, PATIENCE_MS, () => {
      const found = this.events.filter((event) => event.path === path);
      return found.length >= count ? found : undefined;
    });
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.host.stop();
  }
}
