import { setTimeout as pause } from 'node:timers/promises';

const TIMEOUT_MS = 30_000;
const TRIES = 5;
/** Before the second try; doubled before each further one. */
const FIRST_PAUSE_MS = 50;

interface ManagementRequest {
  readonly method: 'DELETE' | 'POST' | 'PUT';
  /** Under `/api`. */
  readonly path: string;
  readonly body?: object;
}

/**
 * Asks the HTTP API of RabbitMQ's management plugin. A broker under load closes connections without an answer, so the
 * request is sent again: each of them may be repeated.
 * @param url its address, with login and password
 */
export async function askManagement(url: URL, request: ManagementRequest): Promise<Response> {
  for (let left = TRIES - 1, pauseMs = FIRST_PAUSE_MS; ; left -= 1, pauseMs *= 2) {
    try {
      return await send(url, request);
    } catch (error) {
      if (left === 0 || !isClosed(error)) throw error;
    }
    await pause(pauseMs);
  }
}

function send(url: URL, { method, path, body }: ManagementRequest): Promise<Response> {
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return fetch(`${url.origin}/api/${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

/** A broker without the plugin refuses the connection, and is not asked again. */
function isClosed(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET';
}
