import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '@libs/errors';
import type { Registry } from 'prom-client';
import { answerInTurn } from '../connections/answer-in-turn';
import { errorResponse } from '../errors/error-response';
import { HealthRoutes } from './health-routes';
import type { Readiness } from './readiness';

export interface HealthServerOptions {
  /** 0 means any free port. */
  readonly port: number;
  readonly readiness: Readiness;
  readonly metrics: Registry;
  readonly routes?: HealthRoutes;
  readonly host?: string;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const REQUEST_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 8_192;

/**
 * Serves liveness, readiness and metrics on a separate port, away from the app's traffic:
 * - `GET /health/live`: 200 as long as the process answers; it never checks a dependency, because a restart would not
 * repair one.
 * - `GET /health/ready`: 200 or 503, with the state of each check by name.
 * - `GET /metrics`: in the text format of Prometheus.
 * - routes that the app itself added.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const listener = answerInTurn((request, response) => void respond(options, request, response));
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: MAX_HEADER_BYTES },
    listener,
  );
  // Otherwise Node answers requests with an unknown `Expect` header itself, all those of a chunk at once.
  server.on('checkExpectation', listener);
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, options.port, options.host ?? '0.0.0.0');
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function respond(
  options: HealthServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, headers, body } = await answer(options, request).catch((error: unknown) =>
    errorResponse(AppError.from(error)),
  );
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(options.readiness.phase === 'draining' && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(
  { readiness, metrics, routes: added = new HealthRoutes() }: HealthServerOptions,
  request: IncomingMessage,
): Promise<Answer> {
  const routes: Readonly<Record<string, () => Promise<Answer>>> = {
    '/health/live': async () => json(200, { status: 'live' }),
    '/health/ready': async () => {
      const { ready, phase, checks } = await readiness.report();
      return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', phase, checks });
    },
    '/metrics': async () => ({
      status: 200,
      headers: { 'content-type': metrics.contentType },
      body: await metrics.metrics(),
    }),
  };
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const route = Object.hasOwn(routes, path) ? routes[path] : addedRoute(added, path);
  if (!route) {
    return errorResponse(
      new AppError('not_found', `There is no such route here; there are ${Object.keys(routes).join(', ')}`),
    );
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const message = `${path} has no method ${String(request.method)}; it has GET and HEAD`;
    return errorResponse(new AppError('method_not_allowed', message, { headers: { allow: 'GET, HEAD' } }));
  }
  return route();
}

function addedRoute(added: HealthRoutes, path: string): (() => Promise<Answer>) | undefined {
  const find = added.find(path);
  return find && (async () => json(200, find()));
}

function json(status: number, body: object): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    // No request here takes long; an open connection only keeps the process from ending.
    server.closeAllConnections();
  });
}
