const TIMEOUT_MS = 30_000;

interface ManagementRequest {
  readonly method: 'DELETE' | 'POST' | 'PUT';
  /** Under `/api`. */
  readonly path: string;
  readonly body?: object;
}

/** Asks the HTTP API of RabbitMQ's management plugin. @param url its address, with login and password */
export function askManagement(url: URL, { method, path, body }: ManagementRequest): Promise<Response> {
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return fetch(`${url.origin}/api/${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}
