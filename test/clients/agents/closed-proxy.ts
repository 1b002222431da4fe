import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that lets nothing through, and the variables that send programs to it for all but this machine. */
export interface ClosedProxy {
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const FORBIDDEN = 'HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n';

/**
 * Agents ask other servers for news, models and settings, or report to them: Codex github.com, api.github.com and
 * chatgpt.com, Claude Code api.anthropic.com, opencode models.opencode.ai and registry.npmjs.org. They keep their
 * defaults here, and the proxy refuses at once: no test leaves this machine, and none waits for a network.
 */
export async function startClosedProxy(): Promise<ClosedProxy> {
  const server = createServer((_request, response) => response.writeHead(403).end());
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(FORBIDDEN);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const environment: Record<string, string> = {};
  for (const [name, value] of [
    ['HTTP_PROXY', url],
    ['HTTPS_PROXY', url],
    ['NO_PROXY', '127.0.0.1,localhost'],
  ] as const) {
    environment[name] = value;
    environment[name.toLowerCase()] = value;
  }
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { environment, close };
}
