import { setTimeout as delay } from 'node:timers/promises';
import { GatheredPieces } from '@libs/contracts';
import { AppError } from '@libs/errors';

export interface KeyServiceRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** Both attempts together end before the messages that wait for them time out. */
const TIMEOUT_MS = 800;
const PAUSE_MS = 150;
const MAX_BYTES = 65_536;

/**
 * Exchanges JSON over HTTP with a key management service, or with the service that issues credentials for it. Retries
 * once if there is no response, or one that reports a temporary failure.
 */
export class KeyServiceClient {
  constructor(private readonly service: string) {}

  /**
   * @throws AppError provider_unavailable, or `server` with the status of a refusal; never with the service's message
   */
  async exchange(asked: KeyServiceRequest): Promise<Readonly<Record<string, unknown>>> {
    const first = await this.#attempt(asked);
    if (first !== null) return first;
    await delay(PAUSE_MS);
    const second = await this.#attempt(asked);
    if (second !== null) return second;
    const internal = `${this.service} does not answer`;
    throw new AppError('provider_unavailable', 'The key management service does not answer', { internal });
  }

  /** Returns null after a failure that may be temporary. */
  async #attempt({ method, url, headers, body }: KeyServiceRequest): Promise<Readonly<Record<string, unknown>> | null> {
    let status: number;
    let text: string;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await fetch(url, { method, headers, ...(body && { body }), signal, redirect: 'manual' });
      status = answer.status;
      text = await readText(answer);
    } catch {
      return null;
    }
    if (status === 429 || status >= 500) return null;
    if (status !== 200) throw this.refusal(`answered with ${status}`);
    const members = parse(text);
    if (members === null) throw this.refusal('did not answer with a JSON object');
    return members;
  }

  /**
   * Returns a text field of an answer, such as bytes in base64.
   * @throws AppError `server` if it is missing or not text
   */
  textOf(answer: Readonly<Record<string, unknown>>, member: string): string {
    const value = answer[member];
    if (typeof value !== 'string') throw this.refusal(`answered without ${member}`);
    return value;
  }

  private refusal(what: string): AppError {
    return new AppError('server', 'Internal error', { internal: `${this.service} ${what}` });
  }
}

async function readText({ body }: Response): Promise<string> {
  const gathered = new GatheredPieces();
  for await (const { buffer, byteOffset, length } of body ?? []) {
    if (gathered.bytes + length > MAX_BYTES) throw new Error('the answer is too long');
    gathered.add(Buffer.from(buffer, byteOffset, length));
  }
  return gathered.take().toString();
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
