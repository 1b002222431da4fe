import { startSandbox, type Sandbox, type SandboxOptions } from '../start-sandbox';

export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads members of answers whose shape it is there to check
  readonly body: any;
}

export interface ServerEvent {
  readonly event: string | null;
  readonly data: string;
}

const DEADLINE_MS = 10_000;

/** A started provider and the few calls that its specs make of it. */
export class SandboxClient {
  private constructor(readonly sandbox: Sandbox) {}

  static async start(options: SandboxOptions = {}): Promise<SandboxClient> {
    return new SandboxClient(await startSandbox({ videoMs: 0, batchMs: 0, ...options }));
  }

  close(): Promise<void> {
    return this.sandbox.close();
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.sandbox.url}${path}`, init);
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer> {
    return this.send('POST', path, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  get(path: string, headers: Record<string, string> = {}): Promise<JsonAnswer> {
    return this.send('GET', path, undefined, headers);
  }

  delete(path: string): Promise<JsonAnswer> {
    return this.send('DELETE', path, undefined, {});
  }

  form(path: string, form: FormData): Promise<JsonAnswer> {
    return this.send('POST', path, form, {});
  }

  async stream(path: string, body: unknown): Promise<ServerEvent[]> {
    const response = await this.fetch(path, { method: 'POST', body: JSON.stringify(body) });
    return readEvents(await response.text());
  }

  /** Asks again until the answer is as wished. Throws after ten seconds. */
  async until(path: string, isWished: (body: JsonAnswer['body']) => boolean): Promise<JsonAnswer['body']> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const { body } = await this.get(path);
      if (isWished(body)) return body;
      if (Date.now() > deadline) throw new Error(`Still waiting for ${path}: ${JSON.stringify(body)}`);
    }
  }

  private async send(
    method: string,
    path: string,
    body: string | FormData | undefined,
    headers: Record<string, string>,
  ): Promise<JsonAnswer> {
    const response = await this.fetch(path, { method, body, headers });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }
}

export function readEvents(text: string): ServerEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split('\n');
      const value = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      return { event: value('event') ?? null, data: value('data') ?? '' };
    });
}
